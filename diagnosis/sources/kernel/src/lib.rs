//! What the sources of a running kernel share, however its events reach them.
//!
//! [`LiveSource`] is what a recorder sees of them, with the same [`Options`] for all; a new way to
//! record is a crate that implements it, and a line where the command lists its sources.
//! [`Definitions`] gives timers and names their ids, [`tasks_now`] tells of the tasks that are there
//! already, [`Clocks`] says how far other clocks are from that of the events, and [`Symbols`],
//! [`Interrupts`] and [`Groups`] turn addresses and numbers into names.
//!
//! [`Merge`] puts events of all CPUs and the marks of this process into one order, for sources that
//! have events in their hands as soon as they read; tracefs yields pages whose records can only be
//! read in order, and has its own merge.
//!
//! [`Programs`] names functions of programs while these run, and [`folded`] and [`with_program`] make stacks of names.
//!
//! It attaches to nothing and changes nothing.
#![forbid(unsafe_code)]

mod abi;
mod clock;
mod cpus;
mod definitions;
mod flight_recorder;
mod groups;
mod idle;
mod interrupts;
mod live_source;
mod merge;
mod namespace;
mod programs;
mod stack;
mod stolen;
mod symbols;
mod tasks;

pub use abi::{Abi, futex2};
pub use clock::{ClockOffsets, Clocks, monotonic_ns, tick_ns};
pub use cpus::{BUFFERS_BYTES_MAX, buffer_bytes, online_end, present_end, unrecorded_note};
pub use definitions::Definitions;
pub use flight_recorder::{Exceeded, FlightOptions, FlightRecorder, Held};
pub use groups::{CpuGroups, Groups};
pub use idle::IdleStates;
pub use interrupts::Interrupts;
pub use live_source::{LiveSource, Options};
pub use merge::{HELD_EVENTS_MAX, Merge};
pub use namespace::{OwnPidNamespace, ids_are_the_kernels};
pub use programs::{Bytes, Functions, Programs};
pub use stack::{FRAMES_MAX, folded, with_program};
pub use stolen::stolen_ns;
pub use symbols::Symbols;
pub use tasks::{
    Roles, affinities, affinities_now, own_thread_is, processes_with, realtime_threads, tasks_now,
    threads_with,
};
