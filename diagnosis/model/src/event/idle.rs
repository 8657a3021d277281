//! A CPU sleeps and wakes.

use super::{Pack, Payload};
use crate::NameId;

/// The CPU goes to sleep. `b` idle state, as cpuidle numbers them; `flags` bit 0: it only
/// polls; bit 1: there is no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleEnter {
    /// Which state.
    pub state: u32,
    /// The state is no sleep: the CPU stays awake and looks for work in a loop.
    pub polls: bool,
    /// There is no state to choose: the kernel has no driver for idle states, and just waits for
    /// interrupts.
    pub only: bool,
}

impl IdleEnter {
    /// The bit of `flags` that says that the state only polls.
    pub const POLLS: u8 = 1;
    /// The bit of `flags` that says that there is no other state.
    pub const ONLY: u8 = 2;
}

/// The CPU is awake again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleExit;

/// What an idle state is, told once, before anything else. `a` exit latency, `b` state, `c` name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// Which state.
    pub state: u32,
    /// How long the CPU takes to wake from it, by the driver's table (`latency` of cpuidle).
    pub exit_latency_ns: u64,
    /// Its name.
    pub name: NameId,
}

impl Pack for IdleState {
    fn pack(&self) -> Payload {
        Payload { a: self.exit_latency_ns, b: self.state, c: self.name.0, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { state: p.b, exit_latency_ns: p.a, name: NameId(p.c) }
    }
}

impl Pack for IdleEnter {
    fn pack(&self) -> Payload {
        let polls = if self.polls { Self::POLLS } else { 0 };
        let only = if self.only { Self::ONLY } else { 0 };
        Payload { flags: polls | only, b: self.state, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { state: p.b, polls: p.flags & Self::POLLS != 0, only: p.flags & Self::ONLY != 0 }
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
