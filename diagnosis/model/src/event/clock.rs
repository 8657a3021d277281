//! Clocks that are set.

use super::{Pack, Payload};

/// `CLOCK_REALTIME` was set against `CLOCK_MONOTONIC`, between `since_ns` and the event's own time: no
/// event tells when, but expiries show it. `a` by how much, `b` and `c` since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSet {
    /// Forward is positive.
    pub by_ns: i64,
    /// The last time at which the clock is known to have stood as before.
    pub since_ns: u64,
}

impl Pack for ClockSet {
    fn pack(&self) -> Payload {
        let (b, c) = (self.since_ns as u32, (self.since_ns >> 32) as u32);
        Payload { flags: 0, a: self.by_ns as u64, b, c }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { by_ns: p.a as i64, since_ns: u64::from(p.b) | u64::from(p.c) << 32 }
    }
}
