//! How much do neighbours in time depend on each other, and how many independent samples are as
//! many as these worth?

/// Levels of blocks: of 1, 2, 4 … values, up to 2^47; more values than that are not counted beyond.
pub const LEVELS: usize = 48;

/// A level with fewer blocks says too little of their variance: its standard error is a quarter of
/// it.
const BLOCKS_MIN: u64 = 32;

/// Fewer values than this say nothing of dependence.
const VALUES_MIN: u64 = 4 * BLOCKS_MIN;

/// Two levels differ where they are this many standard errors apart.
const APART: f64 = 2.5;

/// Sums over the blocks of one length. Blocks follow each other without overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockLevel {
    /// How many blocks.
    pub count: u64,
    /// Σ of their means, from [`Blocking::origin`] on.
    pub sum: f64,
    /// Σ of the squares of the same.
    pub squares: f64,
    /// The mean of a block that waits for the next, with which it makes one of the next level.
    pub waiting: Option<f64>,
}

/// Sums from which dependence is told, for values that come one at a time: fixed in size (2 KB), no
/// allocation, two levels on average per value.
///
/// All fields are sums: they may be written down and read again, and two of them added
/// ([`Blocking::merge`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Blocking {
    /// The first value: all others are counted from it, so that squares do not drown in the mean's.
    pub origin: f64,
    /// By the length of blocks: 2^level values.
    pub levels: [BlockLevel; LEVELS],
    /// The last value, from the origin on; `None` before the first, and after a break.
    pub previous: Option<f64>,
    /// How many pairs of neighbours.
    pub pairs: u64,
    /// Σ of the squares of their differences.
    pub differences: f64,
}

impl Default for Blocking {
    fn default() -> Self {
        Self {
            origin: 0.0,
            levels: [BlockLevel::default(); LEVELS],
            previous: None,
            pairs: 0,
            differences: 0.0,
        }
    }
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dependence {
    /// How many values.
    pub count: u64,
    /// The correlation of neighbours, −1 to 1.
    pub lag_1: f64,
    /// How many values are worth one independent one, for the mean: 1 + 2·Σ of the autocorrelation
    /// over all distances; 1 for independent values, less where neighbours balance each other.
    pub tau: f64,
    /// Its standard error.
    pub tau_error: f64,
    /// The length of the blocks from which it is.
    pub block: u64,
    /// Whether longer blocks say the same. Where not, dependence reaches further than can be seen, or
    /// the mean drifts: `tau` is then the most that was seen, and the truth may be more.
    pub is_plateau: bool,
}

impl Blocking {
    /// Takes in the next value, in ns. A few ns.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        let value = ns as f64;
        if self.levels[0].count == 0 && self.previous.is_none() {
            self.origin = value;
        }
        let value = value - self.origin;
        if let Some(previous) = self.previous.replace(value) {
            self.pairs += 1;
            self.differences += (value - previous) * (value - previous);
        }
        let mut mean = value;
        for level in &mut self.levels {
            level.count += 1;
            level.sum += mean;
            level.squares += mean * mean;
            match level.waiting.take() {
                None => {
                    level.waiting = Some(mean);
                    return;
                }
                Some(first) => mean = f64::midpoint(first, mean),
            }
        }
    }

    /// Says that the next value does not follow on the last: values between were lost, or another
    /// series begins. Blocks that are not full are left out.
    pub fn interrupt(&mut self) {
        self.previous = None;
        for level in &mut self.levels {
            level.waiting = None;
        }
    }

    /// Adds another series to this one, as after [`Blocking::interrupt`].
    pub fn merge(&mut self, other: &Self) {
        if self.levels[0].count == 0 {
            *self = other.clone();
            self.interrupt();
            return;
        }
        if other.levels[0].count == 0 {
            return;
        }
        self.interrupt();
        self.pairs += other.pairs;
        self.differences += other.differences;
        // The other's sums as from this origin.
        let shift = other.origin - self.origin;
        for (level, other) in self.levels.iter_mut().zip(&other.levels) {
            let count = other.count as f64;
            level.count += other.count;
            level.squares += other.squares + shift * (2.0 * other.sum + shift * count);
            level.sum += other.sum + shift * count;
        }
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.levels[0].count
    }

    /// What the sums tell; `None` of fewer than 128 values, or of values that are all the same.
    ///
    /// The blocking method (Flyvbjerg and Petersen, "Error Estimates on Averages of Correlated Data",
    /// J. Chem. Phys. 91, 461, 1989): the variance of the mean that blocks of 2^k values give rises
    /// with k until blocks are longer than what neighbours share, and stays there. What that plateau
    /// has more than single values is τ. It is read at the shortest blocks with length³ > 2·n·τ²,
    /// which weighs what is left of the dependence against the error by chance (Lee et al., Phys.
    /// Rev. E 83, 066706, 2011), and compared with those of a quarter of that, and with all longer ones
    /// of which there are 32 at least.
    pub fn dependence(&self) -> Option<Dependence> {
        let count = self.count();
        let single = variance(&self.levels[0]);
        if count < VALUES_MIN || single <= 0.0 {
            return None;
        }
        let usable = self.levels.iter().take_while(|level| level.count >= BLOCKS_MIN);
        // (length, τ, relative error)
        let seen: Vec<(f64, f64, f64)> = usable
            .enumerate()
            .map(|(k, level)| {
                let length = (1u64 << k) as f64;
                let error = (2.0 / (level.count - 1) as f64).sqrt();
                (length, variance(level) * length / single, error)
            })
            .collect();
        let enough =
            |&(length, tau, _): &(f64, f64, f64)| length.powi(3) > 2.0 * count as f64 * tau * tau;
        let found = seen.iter().position(enough);
        let at = found.unwrap_or(seen.len() - 1);
        let (length, tau, error) = seen[at];
        let rises = |shorter: (f64, f64, f64), longer: (f64, f64, f64)| {
            longer.1 - shorter.1 > APART * (shorter.1 * shorter.2).hypot(longer.1 * longer.2)
        };
        // It must have come to its end a while before, and must not go on.
        let came = rises(seen[at.saturating_sub(2)], seen[at]);
        let goes_on = seen[at + 1..].iter().any(|&longer| rises(seen[at], longer));
        let is_plateau = found.is_some() && !came && !goes_on;
        let worst = || seen.iter().copied().max_by(|one, two| one.1.total_cmp(&two.1));
        let (length, tau, error) =
            if is_plateau { (length, tau, error) } else { worst().unwrap_or(seen[at]) };
        // Neighbours that are alike differ by less than two drawn apart (von Neumann, 1941).
        let apart = self.differences / (2 * self.pairs.max(1)) as f64;
        Some(Dependence {
            count,
            lag_1: (1.0 - apart / single).clamp(-1.0, 1.0),
            tau,
            tau_error: tau * error,
            block: length as u64,
            is_plateau,
        })
    }
}

/// The variance of the blocks' means.
fn variance(level: &BlockLevel) -> f64 {
    let count = level.count as f64;
    let mean = level.sum / count.max(1.0);
    ((level.squares - mean * level.sum) / (count - 1.0).max(1.0)).max(0.0)
}

impl Dependence {
    /// How many independent values these are worth, for their mean.
    pub fn effective_count(&self) -> f64 {
        self.count as f64 / self.tau.max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` values of an AR(1) process around 50 µs, with what `drift` adds at each place in 0–1.
    fn series(n: u32, rho: f64, drift: impl Fn(f64) -> f64) -> Vec<u64> {
        let mut random = fastrand::Rng::with_seed(9);
        let mut state = 0.0;
        let one = |i| {
            let noise = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
            state = rho * state + noise;
            (50_000.0 + 1_000.0 * state + drift(f64::from(i) / f64::from(n))) as u64
        };
        (0..n).map(one).collect()
    }

    fn of(series: &[u64]) -> Blocking {
        let mut blocking = Blocking::default();
        for &ns in series {
            blocking.record(ns);
        }
        blocking
    }

    #[test]
    fn a_known_dependence_is_found_within_its_error() {
        for (rho, n) in [(0.0f64, 100_000), (0.5, 100_000), (0.9, 400_000), (-0.4, 100_000)] {
            let found = of(&series(n, rho, |_| 0.0)).dependence().unwrap();
            let tau = (1.0 + rho) / (1.0 - rho);
            assert!((found.lag_1 - rho).abs() < 0.02, "{rho}: {found:?}");
            assert!((found.tau - tau).abs() < 3.0 * found.tau_error, "{rho}: {found:?}");
            assert!(found.tau_error < 0.15 * tau, "{rho}: {found:?}");
            assert!(found.is_plateau, "{rho}: {found:?}");
            assert!((found.effective_count() * tau / f64::from(n) - 1.0).abs() < 0.3);
        }
    }

    #[test]
    fn a_slow_drift_has_no_plateau() {
        // One deviation from the beginning to the end.
        let found = of(&series(100_000, 0.0, |at| 1_000.0 * at)).dependence().unwrap();
        assert!(!found.is_plateau, "{found:?}");
        assert!(found.tau > 50.0, "{found:?}");
        // Dependence longer than can be seen.
        let found = of(&series(2_000, 0.999, |_| 0.0)).dependence().unwrap();
        assert!(!found.is_plateau, "{found:?}");
    }

    #[test]
    fn parts_add_up_to_the_whole_wherever_each_began() {
        let all = series(65_536, 0.5, |_| 0.0);
        let whole = of(&all).dependence().unwrap();
        let mut merged = of(&[]);
        // The halves begin with values far apart.
        let mut second = Blocking::default();
        second.record(900_000);
        second.interrupt();
        let outlier = second.clone();
        for &ns in &all[32_768..] {
            second.record(ns);
        }
        merged.merge(&of(&all[..32_768]));
        merged.merge(&second);
        let found = merged.dependence().unwrap();
        assert_eq!(found.count, whole.count + 1);
        let mut expected = of(&all[..32_768]);
        expected.interrupt();
        for &ns in &all[32_768..] {
            expected.record(ns);
        }
        expected.merge(&outlier);
        let expected = expected.dependence().unwrap();
        assert!((found.tau / expected.tau - 1.0).abs() < 1e-3, "{found:?} {expected:?}");
        assert!((found.lag_1 - expected.lag_1).abs() < 1e-3, "{found:?} {expected:?}");
    }

    #[test]
    fn nothing_few_or_all_the_same_says_nothing() {
        assert_eq!(Blocking::default().dependence(), None);
        assert_eq!(of(&[5; 127]).dependence(), None);
        assert_eq!(of(&vec![5; 10_000]).dependence(), None);
        assert_eq!(of(&series(127, 0.0, |_| 0.0)).dependence(), None);
        assert!(of(&series(128, 0.0, |_| 0.0)).dependence().is_some());
        let mut twice = Blocking::default();
        twice.merge(&Blocking::default());
        assert_eq!(twice, Blocking::default());
    }
}
