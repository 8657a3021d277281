//! Events of the running kernel through tracefs, where eBPF is not to be had.
//!
//! [`Tracefs`] makes a trace instance of its own, so that nobody else's tracing is touched, reads
//! the kernel's binary per-CPU buffers, and yields the model's events in time order. Where tracefs
//! is not mounted it is mounted detached, seen by nobody else. Nothing stays behind at the end; of a
//! process that was killed an empty instance stays until the next start, which removes it.
//!
//! It never waits, never writes to a file outside its instance, and has no part in what events
//! mean. Threads' system calls are not recorded, so there are no records of calls for locks.
//!
//! Some kernels keep events to themselves, for all that tracing is on. Seen on a guest of Firecracker
//! with its own 6.18 kernel: the trace buffer has nothing that certain tasks do outside interrupts
//! (switches away from them, their idle states, timers that they arm); the kernel's own text
//! (`trace`) lacks the same. It is so for the idle task of every CPU but the first, of which eBPF
//! programs on the same tracepoints see all, and for threads of process 1, of which they see nothing
//! either. No loss is told of, and none is made up here: the events say who is current, so a reader
//! finds the gap and leaves it unexplained. [`LiveSource::closing_notes`] names such CPUs.
//!
//! What the events mean is `tardy-ftrace`'s. Start reading at [`Tracefs`], then `merge.rs`.
#![forbid(unsafe_code)]

mod error;
mod instance;
mod merge;
mod root;
mod source;

pub use error::Error;
pub use source::Tracefs;
pub use tardy_kernel::{ClockOffsets, LiveSource, Options, Symbols};
