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

impl Pack for Loss {
    fn pack(&self) -> Payload {
        Payload { a: self.since_ns, b: self.count, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { since_ns: p.a, count: p.b }
    }
}
