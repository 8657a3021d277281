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
    /// Takes over the figures of the one thread that writes here.
    #[inline]
    pub(super) fn publish(&self, act_ns: u64, min_ns: u64, max_ns: u64, sum_ns: u64, count: u64) {
        self.act_ns.store(act_ns, Relaxed);
        self.min_ns.store(min_ns, Relaxed);
        self.max_ns.store(max_ns, Relaxed);
        self.sum_ns.store(sum_ns, Relaxed);
        self.count.store(count, Relaxed);
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
