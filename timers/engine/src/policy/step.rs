//! What a context is to do next, and what the device is.

use super::{Arm, Key};

/// One thing for a context to do. Its cost is the caller's to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// Run a timer's callback.
    Fire(Fire<T>),
    /// The tick's own work: the clock has passed so many jiffies (more than one where the interrupt
    /// was late).
    Tick {
        /// How many.
        jiffies: u64,
    },
    /// Timers were moved from one list to another.
    Move {
        /// How many.
        timers: usize,
    },
    /// Stay and wait, keeping the CPU: what is due then is too near to leave for.
    Wait {
        /// Until when, ns.
        until_ns: u64,
    },
}

/// A timer that fires; its key is stale now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fire<T> {
    /// The key it had.
    pub key: Key,
    /// As it was armed, with the expiry it was last moved to.
    pub arm: Arm,
    /// What it carried.
    pub payload: T,
}

/// What to do with the clock-event device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Nothing.
    Leave,
    /// Let it interrupt at `at_ns`, or at once if that has passed, and not at the time before.
    At {
        /// When, ns.
        at_ns: u64,
    },
}
