//! What a CPU runs when a stream begins in the middle.

use super::{Pack, Payload};
use crate::Prio;

/// The event's own task is current on its CPU, and has been for a while: what a recorder that keeps the newest
/// events alone says of each CPU where they begin. `c` its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Current {
    /// Its priority.
    pub prio: Prio,
}

impl Pack for Current {
    fn pack(&self) -> Payload {
        Payload { c: u32::from(self.prio.0 as u16), ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { prio: Prio(p.c as u16 as i16) }
    }
}
