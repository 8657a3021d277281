//! Events that were not recorded.

use super::{Pack, Payload};

/// The source dropped events on this CPU between `since_ns` and the event's own time. `a` since,
/// `b` how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The time of the first event dropped.
    pub since_ns: u64,
    /// How many were dropped; `u32::MAX` where the source cannot count further or at all.
    pub count: u32,
}

impl Loss {
    /// How many are known to be lost: at least one where the source could not count.
    pub fn at_least(&self) -> u64 {
        if self.is_counted() { self.count.into() } else { 1 }
    }

    /// Whether the source could count.
    pub fn is_counted(&self) -> bool {
        self.count != u32::MAX
    }
}

impl Pack for Loss {
    fn pack(&self) -> Payload {
        Payload { a: self.since_ns, b: self.count, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { since_ns: p.a, count: p.b }
    }
}
