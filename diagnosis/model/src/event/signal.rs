//! Signals.

use super::{Pack, Payload};

/// The current task is about to run the handler of a signal, or to die of it. `b` number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Which one.
    pub number: u32,
}

impl Pack for Signal {
    fn pack(&self) -> Payload {
        Payload { b: self.number, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { number: p.b }
    }
}
