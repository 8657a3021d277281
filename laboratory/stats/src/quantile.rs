//! Between which values does a quantile lie?

use crate::{Counted, binomial};

/// How sure every interval is.
const CONFIDENCE: f64 = 0.95;

/// A quantile with the interval in which the true one lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantile {
    /// The estimate.
    pub ns: u64,
    /// The lower end of the 95 % interval; `None` where the sample is too small to bound it.
    pub low_ns: Option<u64>,
    /// The upper end; `None` where the sample is too small to bound it.
    pub high_ns: Option<u64>,
}

/// The ranks, counted from 1 for the least, between which a quantile lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// Of the lower end; `None` where even the least of all may be above the quantile.
    pub low: Option<u64>,
    /// Of the upper end; `None` where even the most of all may be below it.
    pub high: Option<u64>,
}

/// The ranks of the order statistics between which the quantile `q` (0–1) of whatever distribution
/// `n` independent values come from lies with 95 %: each end is wrong in at most 2.5 % (exact, from
/// the binomial distribution; Conover, Practical Nonparametric Statistics, 3.2; David and Nagaraja,
/// Order Statistics, 7.1). Where values have ties, as those of bins do, the interval holds the
/// quantile more often, never less.
///
/// `tau` widens it where neighbours in time depend on each other: `n` such values are worth `n / tau`
/// independent ones ([`Dependence::tau`](crate::Dependence); 1 for independent ones, and less is taken
/// as 1). That is the tau of the mean; what a quantile far out needs is that of going beyond it,
/// which is smaller where the far values come alone, and larger where they come in clumps.
pub fn quantile_ranks(n: u64, q: f64, tau: f64) -> Ranks {
    let q = if q.is_nan() { 0.5 } else { q.clamp(0.0, 1.0) };
    let tau = if tau.is_finite() { tau.max(1.0) } else { n as f64 };
    let worth = ((n as f64 / tau) as u64).clamp(u64::from(n > 0), n);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    // Those above are counted where they are the fewer: 1 − q is then exact enough.
    let within = |p: f64| [tail, 1.0 - tail].map(|share| binomial::quantile(share, worth, p));
    let (low, high) = if q <= 0.5 {
        let [least, most] = within(q);
        (least, most + 1)
    } else {
        let [least, most] = within(1.0 - q);
        (worth - most, worth - least + 1)
    };
    let scaled = |rank: u64| rank as f64 * (n as f64 / worth.max(1) as f64);
    let at = |rank: u64, round: fn(f64) -> f64| {
        let exact = if worth == n { rank } else { round(scaled(rank)) as u64 };
        (rank > 0 && rank <= worth).then(|| exact.clamp(1, n))
    };
    Ranks { low: at(low, f64::floor), high: at(high, f64::ceil) }
}

impl Counted {
    /// The quantile `q` (0–1) with its 95 % interval, for independent values; see
    /// [`quantile_ranks`]. `None` where there is no value.
    pub fn quantile(&self, q: f64) -> Option<Quantile> {
        self.quantile_of_dependent(q, 1.0)
    }

    /// As [`Counted::quantile`], where `n` values are worth `n / tau` independent ones.
    pub fn quantile_of_dependent(&self, q: f64, tau: f64) -> Option<Quantile> {
        let ranks = quantile_ranks(self.count(), q, tau);
        Some(Quantile {
            ns: self.quantile_ns(q)?,
            low_ns: ranks.low.and_then(|rank| self.ranked_ns(rank)),
            high_ns: ranks.high.and_then(|rank| self.ranked_ns(rank)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_values_bound_nothing_but_what_they_can() {
        // All five below the median: 1 in 32, more than 2.5 %.
        assert_eq!(quantile_ranks(5, 0.5, 1.0), Ranks { low: None, high: None });
        // Six: 1 in 64.
        assert_eq!(quantile_ranks(6, 0.5, 1.0), Ranks { low: Some(1), high: Some(6) });
        assert_eq!(quantile_ranks(5, 0.999, 1.0).high, None);
        assert_eq!(quantile_ranks(0, 0.5, 1.0), Ranks { low: None, high: None });
        for q in [0.0, 1.0, f64::NAN] {
            let Ranks { low, high } = quantile_ranks(5, q, f64::NAN);
            assert!(low.is_none_or(|low| low <= 5) && high.is_none_or(|high| high <= 5));
        }
    }

    #[test]
    fn dependent_values_are_worth_fewer() {
        let Ranks { low, high } = quantile_ranks(10_000, 0.9, 1.0);
        let wide = quantile_ranks(10_000, 0.9, 25.0);
        let half = |one: Option<u64>| one.unwrap().abs_diff(9_000) as f64;
        for (wide, narrow) in [(wide.low, low), (wide.high, high)] {
            assert!((4.3..5.7).contains(&(half(wide) / half(narrow))), "{wide:?} {narrow:?}");
        }
        assert_eq!(quantile_ranks(10_000, 0.999, 25.0).high, None, "400 do not bound p99.9");
    }

    #[test]
    fn the_interval_holds_the_true_quantile_as_often_as_it_says() {
        let mut random = fastrand::Rng::with_seed(11);
        for (n, q) in [(40, 0.5), (300, 0.9), (1000, 0.99)] {
            let mut held = 0;
            for _ in 0..2000 {
                let values = Counted::of_values((0..n).map(|_| random.u64(..1 << 40)));
                let quantile = values.quantile(q).unwrap();
                let truth = (q * (1u64 << 40) as f64) as u64;
                held += u32::from(
                    quantile.low_ns.is_none_or(|low| low <= truth)
                        && quantile.high_ns.is_none_or(|high| truth <= high),
                );
            }
            // 95 % at least, and the order statistics allow little more.
            assert!((1880..=1975).contains(&held), "{held} of 2000 at {q}");
        }
    }
}
