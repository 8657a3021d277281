//! How long to leave a queue alone, given how long it took to drain and how late the last sleep was.

use std::time::Duration;

use thiserror::Error;

/// The shortest vacation unless another is set, ns: below, the sleep costs more than another look.
pub const VACATION_MIN_NS: u64 = 1_000;

/// The longest vacation unless another is set, ns.
pub const VACATION_MAX_NS: u64 = 1_000_000_000;

/// How long an item may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// On average.
    Mean(Duration),
    /// At most, as far as sleeps are on time: a bound on the plan, not on the machine.
    Longest(Duration),
}

/// The bounds given hold no vacation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no vacation is at least {min_ns} ns and at most {max_ns} ns long")]
pub struct BadBounds {
    /// The minimum given, ns.
    pub min_ns: u64,
    /// The maximum given, ns.
    pub max_ns: u64,
}

/// The control law of a poller. It has no clock.
///
/// A cycle is a vacation of actual length A followed by B of draining until the queue is empty. An
/// item that arrives at any time of the vacation, independent of it, waits A/2 for its end on average
/// and A at most (the residual time of an interval; for varying A the mean is E\[A²\]/2E\[A\], the
/// vacation's part in the wait of a queue whose server takes vacations: Fuhrmann and Cooper,
/// "Stochastic decompositions in the M/G/1 queue with generalized vacations", Operations Research 33,
/// 1985). Then it waits for those before it: B/2 on average and B at most where they came in a burst,
/// less where they came evenly. With planned length V and wake lateness L, A = V + L, so
///
/// - a mean wait of W asks for V = 2W − L − B,
/// - a longest wait of W asks for V = W − L − B,
///
/// within the bounds. L is the mean over about the last 16 vacations. B follows a rise by half of it
/// and a fall by an eighth, per cycle: a queue found full shortens the next vacation at once, one
/// found empty lets it grow back. So the mean wait is the target for few or bursty items, and stays
/// below it for an even flow, down to W(1 − ρ) where draining takes the share ρ of the time. A load
/// that is itself beyond the target leaves the minimum vacation.
///
/// ```
/// use std::time::Duration;
/// use tardy_timers::poller::{Law, Target};
///
/// let mut law = Law::new(Target::Mean(Duration::from_micros(50)));
/// assert_eq!(law.vacation_ns(), 100_000);
/// law.drained(40_000, 0); // 40 µs to drain: a burst
/// assert_eq!(law.vacation_ns(), 80_000);
/// law.drained(0, 0); // nothing there
/// assert_eq!(law.vacation_ns(), 82_500);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Law {
    cycle_ns: u64,
    min_ns: u64,
    max_ns: u64,
    busy_ns: u64,
    lateness_ns: u64,
}

impl Law {
    /// The law for `target`, between [`VACATION_MIN_NS`] and [`VACATION_MAX_NS`].
    pub fn new(target: Target) -> Self {
        let cycle_ns = match target {
            Target::Mean(wait) => crate::clock::duration_ns(wait).saturating_mul(2),
            Target::Longest(wait) => crate::clock::duration_ns(wait),
        };
        let (min_ns, max_ns) = (VACATION_MIN_NS, VACATION_MAX_NS);
        Self { cycle_ns, min_ns, max_ns, busy_ns: 0, lateness_ns: 0 }
    }

    /// The same law with other bounds, in nanoseconds; they hold against the target.
    ///
    /// # Errors
    /// [`BadBounds`] where `min_ns` is more than `max_ns`.
    pub fn bounded(self, min_ns: u64, max_ns: u64) -> Result<Self, BadBounds> {
        if min_ns > max_ns {
            return Err(BadBounds { min_ns, max_ns });
        }
        Ok(Self { min_ns, max_ns, ..self })
    }

    /// Learns from a cycle: how long the queue took to drain, and how much later than planned the
    /// vacation before it had ended. One lateness counts as no more than the whole cycle, so that an
    /// outlier is not paid for by many cycles to come.
    pub fn drained(&mut self, busy_ns: u64, lateness_ns: u64) {
        self.busy_ns = if busy_ns > self.busy_ns {
            towards(self.busy_ns, busy_ns, 2)
        } else {
            towards(self.busy_ns, busy_ns, 8)
        };
        self.lateness_ns = towards(self.lateness_ns, lateness_ns.min(self.cycle_ns), 16);
    }

    /// How long to leave the queue alone next, ns.
    pub fn vacation_ns(&self) -> u64 {
        self.cycle_ns
            .saturating_sub(self.lateness_ns)
            .saturating_sub(self.busy_ns)
            .clamp(self.min_ns, self.max_ns)
    }
}

/// `from`, moved by a `part`-th of the way to `to`, at least by 1: it arrives.
fn towards(from: u64, to: u64, part: u64) -> u64 {
    if to > from { from + (to - from).div_ceil(part) } else { from - (from - to).div_ceil(part) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MEAN_NS: u64 = 50_000;

    fn mean_law() -> Law {
        Law::new(Target::Mean(Duration::from_nanos(MEAN_NS)))
    }

    /// What a simulated run came to.
    struct Outcome {
        wait_mean_ns: f64,
        wait_max_ns: u64,
        share_awake: f64,
        law: Law,
    }

    /// Serves sorted `arrivals`, `service_ns` each, one vacation after the other; every wakeup is
    /// `lateness_ns` late. A wait ends where the item's service begins.
    fn simulate(mut law: Law, arrivals: &[u64], service_ns: u64, lateness_ns: u64) -> Outcome {
        let (mut now_ns, mut awake_ns, mut next) = (0, 0, 0);
        let mut waits = Vec::with_capacity(arrivals.len());
        while next < arrivals.len() {
            now_ns += law.vacation_ns() + lateness_ns;
            let woken_ns = now_ns;
            while let Some(arrival_ns) = arrivals.get(next).filter(|at| **at <= now_ns) {
                waits.push(now_ns - arrival_ns);
                now_ns += service_ns;
                next += 1;
            }
            awake_ns += now_ns - woken_ns;
            law.drained(now_ns - woken_ns, lateness_ns);
        }
        Outcome {
            wait_mean_ns: waits.iter().sum::<u64>() as f64 / waits.len() as f64,
            wait_max_ns: waits.iter().copied().max().unwrap_or(0),
            share_awake: awake_ns as f64 / now_ns as f64,
            law,
        }
    }

    /// Exponential gaps of the given mean.
    fn poisson(seed: u64, gap_ns: f64, count: usize) -> Vec<u64> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut at_ns = 0.0;
        let arrivals = std::iter::repeat_with(|| {
            at_ns -= gap_ns * (1.0 - random.f64()).ln();
            at_ns as u64
        });
        arrivals.take(count).collect()
    }

    #[test]
    fn silence_gives_the_longest_vacation_the_target_allows() {
        let mut law = mean_law();
        law.drained(90_000, 0);
        assert!(law.vacation_ns() < 2 * MEAN_NS);
        for _ in 0..200 {
            law.drained(0, 3_000);
        }
        assert_eq!(law.vacation_ns(), 2 * MEAN_NS - 3_000);
    }

    #[test]
    fn a_load_beyond_the_target_leaves_the_shortest_vacation() {
        let mut law = mean_law();
        for _ in 0..64 {
            law.drained(3 * MEAN_NS, 0);
        }
        assert_eq!(law.vacation_ns(), VACATION_MIN_NS);
    }

    #[test]
    fn one_outlier_is_not_paid_for_long() {
        let mut law = mean_law();
        law.drained(0, u64::MAX);
        assert!(law.vacation_ns() >= 2 * MEAN_NS * 15 / 16 - 1);
    }

    #[test]
    fn bounds_hold_and_must_make_sense() {
        let law = mean_law();
        assert_eq!(law.bounded(7, 9).map(|law| law.vacation_ns()), Ok(9));
        assert_eq!(law.bounded(9, 7).err(), Some(BadBounds { min_ns: 9, max_ns: 7 }));
        let forever = Law::new(Target::Mean(Duration::MAX));
        assert_eq!(forever.vacation_ns(), VACATION_MAX_NS);
        assert_eq!(Law::new(Target::Longest(Duration::ZERO)).vacation_ns(), VACATION_MIN_NS);
    }

    #[test]
    fn bursts_wait_the_target_on_average() {
        // 100 items of 200 ns at once, every 3 ms or so: 20 µs to drain, an item waits half of it
        // and half of a vacation.
        let starts = poisson(5, 3_000_000.0, 2_000);
        let arrivals: Vec<u64> = starts.iter().flat_map(|at| [*at; 100]).collect();
        let wait_ns = simulate(mean_law(), &arrivals, 200, 2_000).wait_mean_ns;
        // In the silence between, the vacation is back at its longest: up to half a burst too much.
        assert!((45_000.0..63_000.0).contains(&wait_ns), "{wait_ns}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Items at random times wait the target, less the share that draining takes.
        #[test]
        fn a_steady_flow_waits_no_longer_than_the_target(
            seed: u64,
            load in 0.001..0.8_f64,
            lateness_ns in 0..20_000_u64,
        ) {
            let service_ns = 500;
            let arrivals = poisson(seed, service_ns as f64 / load, 20_000);
            let outcome = simulate(mean_law(), &arrivals, service_ns, lateness_ns);
            let target_ns = MEAN_NS as f64;
            prop_assert!(outcome.wait_mean_ns <= 1.05 * target_ns, "{}", outcome.wait_mean_ns);
            let least_ns = 0.8 * (1.0 - load) * target_ns;
            prop_assert!(outcome.wait_mean_ns >= least_ns, "{} < {}", outcome.wait_mean_ns, least_ns);
            prop_assert!((outcome.share_awake - load).abs() < 0.1);
        }

        /// With sleeps on time and a light load nothing waits longer than the longest wait.
        #[test]
        fn the_longest_wait_is_kept(seed: u64) {
            let law = Law::new(Target::Longest(Duration::from_nanos(MEAN_NS)));
            let outcome = simulate(law, &poisson(seed, 10_000.0, 5_000), 50, 0);
            prop_assert!(outcome.wait_max_ns <= MEAN_NS);
        }

        /// Whatever happens, the vacation is within the bounds.
        #[test]
        fn always_within_bounds(
            cycles in prop::collection::vec((any::<u64>(), any::<u64>()), 0..100),
            min_ns: u64,
            width_ns: u64,
        ) {
            let max_ns = min_ns.saturating_add(width_ns);
            let mut law = mean_law().bounded(min_ns, max_ns).unwrap();
            for (busy_ns, lateness_ns) in cycles {
                law.drained(busy_ns, lateness_ns);
                prop_assert!((min_ns..=max_ns).contains(&law.vacation_ns()));
            }
        }
    }

    #[test]
    fn a_burst_is_forgotten() {
        let mut arrivals = vec![1_000_000; 1_000];
        arrivals.push(100_000_000);
        assert_eq!(simulate(mean_law(), &arrivals, 200, 0).law.vacation_ns(), 2 * MEAN_NS - 100);
    }
}
