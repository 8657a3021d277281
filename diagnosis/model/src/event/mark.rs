//! A reading that a thread in user space took itself.

use super::{Pack, Payload};

/// A measuring thread is back in user space: the event's time is its own clock reading. `a` the
/// expiry it had asked for, `b` how many marks this thread has made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The time it had asked to be woken at.
    pub expiry_ns: u64,
    /// Counts this thread's marks from 0, so that a reader sees whether one is missing.
    pub sequence: u32,
}

impl Pack for Mark {
    fn pack(&self) -> Payload {
        Payload { a: self.expiry_ns, b: self.sequence, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { expiry_ns: p.a, sequence: p.b }
    }
}
