//! How late a thread's wakeups have been lately: a histogram that forgets.

use super::precision::Precision;

/// Width of a bucket, ns. A tail is a bucket's upper edge, so up to this much too long.
pub(crate) const BUCKET_NS: u64 = 250;

/// Number of buckets; 100 µs in all. A wakeup later than that is counted apart: no spinning that one
/// would want to pay for saves it, so it says nothing about how long to spin.
const BUCKETS: usize = 400;

/// The longest tail there can be, ns: no sleep spins longer than this, whatever it has learnt.
pub(crate) const TAIL_MAX_NS: u64 = BUCKET_NS * BUCKETS as u64;

/// Wakeups of a generation. Two generations are held, the one being filled and the one before, so a
/// quantile is over the last 512–1,024 wakeups and load of the past is forgotten after 1,024.
pub(crate) const GENERATION: u32 = 512;

/// The latenesses of the last one to two generations of wakeups. 1.6 KB, no allocation.
#[derive(Clone)]
pub(crate) struct Lateness {
    filling: Generation,
    before: Generation,
}

/// What one more wakeup did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// Nothing beside being counted.
    Counted,
    /// It was the last of its generation; the one before has been forgotten.
    Turned,
}

impl Lateness {
    pub(crate) const fn new() -> Self {
        Self { filling: Generation::new(), before: Generation::new() }
    }

    /// Counts one wakeup.
    pub(crate) fn record(&mut self, lateness_ns: u64) -> Recorded {
        self.filling.record(lateness_ns);
        if self.filling.total < GENERATION {
            return Recorded::Counted;
        }
        self.before = core::mem::replace(&mut self.filling, Generation::new());
        Recorded::Turned
    }

    /// Wakeups held, those beyond the last bucket included.
    pub(crate) fn held(&self) -> u32 {
        self.filling.total + self.before.total
    }

    /// The upper edge of the bucket that holds the wakeup of the precision's rank, ns, among those
    /// within [`TAIL_MAX_NS`]; 0 where there are none or nothing is to be spun away.
    pub(crate) fn tail_ns(&self, precision: Precision) -> u64 {
        let within = self.filling.within() + self.before.within();
        let Some(rank) = precision.rank(within).filter(|_| within > 0) else { return 0 };
        let mut seen = 0;
        for (bucket, (filling, before)) in
            self.filling.counts.iter().zip(&self.before.counts).enumerate()
        {
            seen += u32::from(*filling) + u32::from(*before);
            if seen >= rank {
                return (bucket as u64 + 1) * BUCKET_NS;
            }
        }
        TAIL_MAX_NS
    }
}

#[derive(Clone)]
struct Generation {
    counts: [u16; BUCKETS],
    beyond: u32,
    total: u32,
}

impl Generation {
    const fn new() -> Self {
        Self { counts: [0; BUCKETS], beyond: 0, total: 0 }
    }

    fn record(&mut self, lateness_ns: u64) {
        self.total += 1;
        match self.counts.get_mut((lateness_ns / BUCKET_NS) as usize) {
            Some(count) => *count += 1,
            None => self.beyond += 1,
        }
    }

    fn within(&self) -> u32 {
        self.total - self.beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn learnt(latenesses: impl IntoIterator<Item = u64>) -> Lateness {
        let mut learnt = Lateness::new();
        for lateness_ns in latenesses {
            learnt.record(lateness_ns);
        }
        learnt
    }

    #[test]
    fn tails() {
        let ramp = || (0..100).map(|i| i * 1_000);
        let cases: [(&str, Vec<u64>, Precision, u64); 7] = [
            ("nothing learnt", vec![], Precision::Exact, 0),
            ("one wakeup", vec![3_100], Precision::Exact, 3_250),
            ("the middle of a ramp", ramp().collect(), Precision::quantile(0.5).unwrap(), 49_250),
            ("its 75th percentile", ramp().collect(), Precision::Balanced, 74_250),
            ("no spinning", ramp().collect(), Precision::Cpu, 0),
            ("outliers say nothing", vec![u64::MAX, 4_000, TAIL_MAX_NS], Precision::Exact, 4_250),
            ("only outliers", vec![u64::MAX; 9], Precision::Exact, 0),
        ];
        for (case, latenesses, precision, tail_ns) in cases {
            assert_eq!(learnt(latenesses).tail_ns(precision), tail_ns, "{case}");
        }
    }

    #[test]
    fn a_load_that_has_ended_is_forgotten_after_two_generations() {
        let quiet = |n: u32| (0..n).map(|_| 2_000);
        let loaded = (0..GENERATION).map(|_| 60_000);
        let after = |n| learnt(loaded.clone().chain(quiet(n))).tail_ns(Precision::Exact);
        assert_eq!(after(0), 60_250);
        assert_eq!(after(GENERATION - 1), 60_250);
        assert_eq!(after(GENERATION), 2_250);
    }

    #[test]
    fn a_load_that_begins_shows_after_few() {
        let loaded = (0..2 * GENERATION).map(|_| 2_000).chain((0..6).map(|_| 60_000));
        assert_eq!(learnt(loaded).tail_ns(Precision::Exact), 60_250);
    }

    proptest! {
        /// Never beyond the cap; never short of the share asked for; what is held is bounded.
        #[test]
        fn bounds(latenesses in prop::collection::vec(0..200_000_u64, 1..1_500), q in 0.01..0.99) {
            let learnt = learnt(latenesses.iter().copied());
            let precision = Precision::quantile(q).unwrap();
            let tail_ns = learnt.tail_ns(precision);
            prop_assert!(tail_ns <= TAIL_MAX_NS);
            prop_assert!(learnt.held() < 2 * GENERATION);
            let held = &latenesses[latenesses.len() - learnt.held() as usize..];
            let within: Vec<u64> = held.iter().copied().filter(|l| *l < TAIL_MAX_NS).collect();
            let covered = within.iter().filter(|l| **l < tail_ns).count();
            prop_assert!(covered as f64 >= q * within.len() as f64 - 0.001);
        }
    }
}
