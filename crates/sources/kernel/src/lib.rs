//! What the sources of a running kernel share, however its events reach them.
//!
//! [`Definitions`] gives timers and names their ids, [`Merge`] puts the records of all CPUs and the
//! marks of this process into one order, [`tasks_now`] tells of the tasks that are there already,
//! and [`Symbols`] and [`Interrupts`] turn addresses and numbers into names.
#![forbid(unsafe_code)]

mod clock;
mod definitions;
mod idle;
mod interrupts;
mod merge;
mod symbols;
mod tasks;

pub use clock::{ClockOffsets, monotonic_ns};
pub use definitions::Definitions;
pub use idle::IdleStates;
pub use interrupts::Interrupts;
pub use merge::{HELD_EVENTS_MAX, Merge};
pub use symbols::Symbols;
pub use tasks::{Roles, tasks_now};
