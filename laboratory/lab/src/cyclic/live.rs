//! Figures that a display can read while a thread measures.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a thread has seen up to now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LiveFigures {
    /// The least; 0 where there is none yet.
    pub min_ns: u64,
    /// The last.
    pub act_ns: u64,
    /// The mean.
    pub avg_ns: f64,
    /// The most.
    pub max_ns: u64,
    /// How many.
    pub count: u64,
}

/// One thread writes, anybody reads, nobody waits. A reader may see a maximum of one cycle beside
/// the sum of the one before. Aligned so that no two threads write to one cache line, nor to the
/// neighbour that the prefetcher brings along.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Live {
    min_ns: AtomicU64,
    act_ns: AtomicU64,
    sum_ns: AtomicU64,
    max_ns: AtomicU64,
    count: AtomicU64,
}

impl Live {
    /// Counts a latency. For the one thread that writes here: what it reads is its own.
    #[inline]
    pub(super) fn record(&self, ns: u64) {
        let count = self.count.load(Relaxed);
        if count == 0 || ns < self.min_ns.load(Relaxed) {
            self.min_ns.store(ns, Relaxed);
        }
        if ns > self.max_ns.load(Relaxed) {
            self.max_ns.store(ns, Relaxed);
        }
        self.act_ns.store(ns, Relaxed);
        // 584 years of latency until it is full.
        self.sum_ns.store(self.sum_ns.load(Relaxed).wrapping_add(ns), Relaxed);
        self.count.store(count + 1, Relaxed);
    }

    /// How many have been counted.
    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    pub(super) fn figures(&self) -> LiveFigures {
        let count = self.count.load(Relaxed);
        LiveFigures {
            min_ns: self.min_ns.load(Relaxed),
            act_ns: self.act_ns.load(Relaxed),
            avg_ns: self.sum_ns.load(Relaxed) as f64 / count.max(1) as f64,
            max_ns: self.max_ns.load(Relaxed),
            count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_of_all_that_was_counted() {
        let live = Live::default();
        assert_eq!(live.figures(), LiveFigures::default());
        for ns in [30, 10, 20] {
            live.record(ns);
        }
        let figures = LiveFigures { min_ns: 10, act_ns: 20, avg_ns: 20.0, max_ns: 30, count: 3 };
        assert_eq!((live.figures(), live.count()), (figures, 3));
    }
}
