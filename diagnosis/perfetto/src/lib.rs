//! The part of Perfetto's trace format that holds what the event model knows.
//!
//! A trace is a `Trace`: packets one after the other, each a length and a [`TracePacket`]. Messages
//! here have Perfetto's names, numbers and types, and only the fields that are read or written; any
//! other is passed over. [`Described`] tells each message's fields as data: whoever reads events by
//! the name of their fields needs no table of its own, and a test holds every one of them against
//! Perfetto's own description (`scripts/test-python.sh`).
//!
//! [`wire`] reads encoded messages in place, for the bundles of events, of which there are too many to
//! make a value of each. [`own`] names what Perfetto has no message for.
//!
//! No I/O. Start reading at [`TracePacket`].
#![forbid(unsafe_code)]

mod ftrace;
mod message;
pub mod own;
mod packet;
mod track;
pub mod wire;

pub use ftrace::*;
pub use message::{Described, Field, Message, messages};
pub use packet::*;
pub use track::*;

/// `BuiltinClock`: what clocks are called in a [`ClockSnapshot`].
pub mod clock {
    /// `CLOCK_REALTIME`.
    pub const REALTIME: u32 = 1;
    /// `CLOCK_MONOTONIC`.
    pub const MONOTONIC: u32 = 3;
    /// `CLOCK_MONOTONIC_RAW`.
    pub const MONOTONIC_RAW: u32 = 5;
    /// `CLOCK_BOOTTIME`, which stamps are in where nothing else is said.
    pub const BOOTTIME: u32 = 6;
}

/// `FtraceClock`: the clock of a bundle's stamps; none of them is [`clock::MONOTONIC`].
pub mod ftrace_clock {
    /// [`clock::BOOTTIME`](super::clock::BOOTTIME).
    pub const UNSPECIFIED: i32 = 0;
    /// The kernel's `global`, of kernels that have no `boot`.
    pub const GLOBAL: i32 = 2;
    /// The kernel's `local`: each CPU's own.
    pub const LOCAL: i32 = 3;
    /// `CLOCK_MONOTONIC_RAW`.
    pub const MONO_RAW: i32 = 4;
}

/// `TracePacket.SequenceFlags`.
pub mod sequence {
    /// What was interned before is void.
    pub const INCREMENTAL_STATE_CLEARED: u32 = 1;
    /// The packet uses what was interned before.
    pub const NEEDS_INCREMENTAL_STATE: u32 = 2;
}
