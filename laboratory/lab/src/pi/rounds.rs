//! What becomes of the rounds: three readings of the clock each, kept while it goes on, counted later.

use tardy_stats::Histogram;
use tardy_stats::Latencies;

/// Rounds that are kept before they are counted, between two rounds: 24 bytes each, which stay in the
/// second level of any cache. To count them takes about a millisecond, in which nothing is measured.
pub(super) const STRETCH_ROUNDS: usize = 8_192;

/// A round, as instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Round {
    /// It begins: High calls for the lock.
    pub(super) start_ns: u64,
    /// High has it: the first reading within the load with the lock.
    pub(super) locked_ns: u64,
    /// It ends, and the next one begins.
    pub(super) end_ns: u64,
}

/// The round that took longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorstRound {
    /// Its number among those that count, from 1.
    pub number: u64,
    /// When it began.
    pub start_ns: u64,
    /// How long High waited for the lock in it.
    pub to_lock_ns: u64,
    /// How long it took, less both loads.
    pub jitter_ns: u64,
}

/// The rounds that count.
#[derive(Debug)]
pub(super) struct Rounds {
    kept: Vec<Round>,
    loads_ns: u64,
    kernel_call_ns: u64,
    counted: Counted,
}

/// What is known of all rounds together.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    pub(super) to_lock: Latencies,
    pub(super) jitter: Latencies,
    /// Of the same, where bins were asked for.
    pub(super) histograms: Option<[Histogram; 2]>,
    /// Lock calls that took long enough to have been in the kernel.
    pub(super) slow_calls: u64,
    /// Rounds that took less than both loads: they count as 0.
    pub(super) shorter: u64,
    pub(super) worst: Option<WorstRound>,
}

impl Rounds {
    /// Memory for all that follows, all of it touched. `loads_ns`: both loads together;
    /// `kernel_call_ns`: what a lock call takes at least that goes to the kernel.
    pub(super) fn new(loads_ns: u64, kernel_call_ns: u64, bins_us: Option<usize>) -> Self {
        let unused = Round { start_ns: 1, locked_ns: 1, end_ns: 1 };
        let mut kept = std::hint::black_box(vec![unused; STRETCH_ROUNDS]);
        kept.clear();
        // A new distribution is zeros that the kernel has only promised; its copy has been written.
        let promised = Latencies::default();
        let counted = Counted {
            to_lock: promised.clone(),
            jitter: promised.clone(),
            histograms: bins_us.map(|bins| [Histogram::new(bins), Histogram::new(bins)]),
            slow_calls: 0,
            shorter: 0,
            worst: None,
        };
        Self { kept, loads_ns, kernel_call_ns, counted }
    }

    /// How many more can be kept before they are to be counted.
    pub(super) fn room(&self) -> u64 {
        (STRETCH_ROUNDS - self.kept.len()) as u64
    }

    /// Keeps a round. Where there is no room for it, it is lost.
    #[inline]
    pub(super) fn keep(&mut self, round: Round) {
        if self.kept.len() < STRETCH_ROUNDS {
            self.kept.push(round);
        }
    }

    /// Rounds kept and counted.
    pub(super) fn count(&self) -> u64 {
        self.counted.jitter.count() + self.kept.len() as u64
    }

    /// Counts what was kept, and makes room.
    pub(super) fn settle(&mut self) {
        let Self { kept, loads_ns, kernel_call_ns, counted } = self;
        for round in kept.drain(..) {
            counted.add(round, *loads_ns, *kernel_call_ns);
        }
    }

    pub(super) fn finish(mut self) -> Counted {
        self.settle();
        self.counted
    }
}

impl Counted {
    fn add(&mut self, round: Round, loads_ns: u64, kernel_call_ns: u64) {
        let number = self.jitter.count() + 1;
        let to_lock_ns = round.locked_ns.saturating_sub(round.start_ns);
        let took_ns = round.end_ns.saturating_sub(round.start_ns);
        let jitter_ns = took_ns.saturating_sub(loads_ns);
        self.shorter += u64::from(took_ns < loads_ns);
        self.slow_calls += u64::from(to_lock_ns >= kernel_call_ns);
        if self.worst.is_none_or(|worst| worst.jitter_ns < jitter_ns) {
            let start_ns = round.start_ns;
            self.worst = Some(WorstRound { number, start_ns, to_lock_ns, jitter_ns });
        }
        self.to_lock.record(to_lock_ns);
        self.jitter.record(jitter_ns);
        if let Some([to_lock, jitter]) = &mut self.histograms {
            to_lock.record(to_lock_ns, 0, number - 1);
            jitter.record(jitter_ns, 0, number - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(start_ns: u64, to_lock_ns: u64, took_ns: u64) -> Round {
        Round { start_ns, locked_ns: start_ns + to_lock_ns, end_ns: start_ns + took_ns }
    }

    #[test]
    fn a_round_is_what_it_took_less_both_loads() {
        let mut rounds = Rounds::new(2_002, 300, Some(2));
        for (to_lock_ns, took_ns) in [(60, 2_100), (1_200, 3_300), (50, 2_000), (300, 2_402)] {
            rounds.keep(round(1_000, to_lock_ns, took_ns));
        }
        assert_eq!(rounds.count(), 4);
        let counted = rounds.finish();
        assert_eq!((counted.jitter.count(), counted.jitter.sum_ns()), (4, 98 + 1_298 + 400));
        assert_eq!((counted.to_lock.min_ns(), counted.to_lock.max_ns()), (50, 1_200));
        assert_eq!((counted.slow_calls, counted.shorter), (2, 1));
        let worst = WorstRound { number: 2, start_ns: 1_000, to_lock_ns: 1_200, jitter_ns: 1_298 };
        assert_eq!(counted.worst, Some(worst));
        let [to_lock, jitter] = counted.histograms.unwrap();
        assert_eq!((to_lock.bins(), jitter.bins()), (&[3, 1][..], &[3, 1][..]));
    }

    #[test]
    fn nothing_is_lost_between_stretches() {
        let mut rounds = Rounds::new(0, 1, None);
        let mut settled = 0;
        for ns in 1..=3 * STRETCH_ROUNDS as u64 + 1 {
            rounds.keep(round(0, 1, ns));
            if rounds.room() == 0 {
                rounds.settle();
                settled += 1;
            }
            assert_eq!(rounds.count(), ns);
        }
        let counted = rounds.finish();
        assert_eq!((settled, counted.jitter.count()), (3, 3 * STRETCH_ROUNDS as u64 + 1));
        assert_eq!(counted.worst.unwrap().number, counted.jitter.count());
    }

    #[test]
    fn a_clock_that_goes_backwards_does_no_harm() {
        let mut rounds = Rounds::new(10, 1, None);
        rounds.keep(Round { start_ns: 100, locked_ns: 50, end_ns: 20 });
        let counted = rounds.finish();
        assert_eq!((counted.jitter.max_ns(), counted.to_lock.max_ns()), (0, 0));
    }
}
