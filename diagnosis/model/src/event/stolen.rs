//! Time of a virtual CPU that its host gave to others.

use super::{Pack, Payload};

/// The hypervisor ran something else than this CPU: so long since the CPU last switched tasks, or last left an
/// interrupt of the timer in which the tick ran, by the kernel's own reading of the steal clock
/// (`rq->prev_steal_time_rq`). It may have been at any time since then, and more than once. `a` nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stolen {
    /// How long in all.
    pub ns: u64,
}

impl Pack for Stolen {
    fn pack(&self) -> Payload {
        Payload { a: self.ns, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { ns: p.a }
    }
}
