//! A CPU sleeps and wakes.

use super::{Pack, Payload};

/// The CPU goes to sleep. `b` idle state, as cpuidle numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleEnter {
    /// Which state.
    pub state: u32,
}

/// The CPU is awake again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleExit;

impl Pack for IdleEnter {
    fn pack(&self) -> Payload {
        Payload { b: self.state, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { state: p.b }
    }
}

impl Pack for IdleExit {
    fn pack(&self) -> Payload {
        Payload::default()
    }

    #[inline]
    fn unpack(_: Payload) -> Self {
        Self
    }
}
