//! The tick: jiffy edges, at multiples of the jiffy.

use core::num::NonZeroU64;

/// Where the clock is among the jiffy edges.
#[derive(Debug)]
pub(crate) struct Edges {
    jiffy_ns: NonZeroU64,
    last_ns: u64,
    next_ns: Option<u64>,
}

impl Edges {
    /// The first edge is the first one after `start_ns`.
    pub(crate) fn new(jiffy_ns: NonZeroU64, start_ns: u64) -> Self {
        let last_ns = start_ns / jiffy_ns * jiffy_ns.get();
        Self { jiffy_ns, last_ns, next_ns: last_ns.checked_add(jiffy_ns.get()) }
    }

    /// The last edge that was passed, or before which the clock began.
    pub(crate) fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// The next edge; `None` where time ends before.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.next_ns
    }

    /// Whether it has come.
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        self.next_ns.is_some_and(|edge_ns| edge_ns <= now_ns)
    }

    /// Passes all edges up to now and says how many.
    pub(crate) fn pass(&mut self, now_ns: u64) -> u64 {
        let jiffies = now_ns.saturating_sub(self.last_ns) / self.jiffy_ns;
        self.last_ns += jiffies * self.jiffy_ns.get();
        self.next_ns = self.last_ns.checked_add(self.jiffy_ns.get());
        jiffies
    }
}
