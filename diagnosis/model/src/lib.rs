//! The event model: what every source yields and everything after a source reads.
//!
//! An [`Event`] is a fixed 32-byte record: a time, a CPU, the task that was current, and a [`Kind`]
//! with at most 17 bytes of its own. What does not fit (names, what a timer is) lives in
//! [`Tables`], filled from the definitions that travel in a [`Batch`] ahead of the events that use
//! them. A [`Wakeup`] is what the explanation makes of events: one lateness cut into [`Segment`]s.
//!
//! This crate does no I/O, reads no clock and depends on nothing. Start reading at [`event`].
//!
//! All times are nanoseconds of `CLOCK_MONOTONIC` in `u64`s whose names end in `_ns`.
#![forbid(unsafe_code)]

mod duration;
pub mod event;
mod id;
mod marks;
mod source;
mod tables;
mod wakeup;
pub mod weight;

pub use duration::duration;
pub use event::{Event, Kind, RECORD_BYTES};
pub use id::{CpuId, NameId, Prio, TaskId, TimerId};
pub use marks::{MARKS_MAX, MarkReader, MarkWriter, mark_ring};
pub use source::{Batch, Source, SourceError};
pub use tables::{Tables, TimerClass, TimerDef};
pub use wakeup::{
    BlockedOn, Boost, Cause, Culprit, Link, LockCall, Segment, Setting, Stretch, StretchKind,
    Wakeup, WakeupKind,
};
