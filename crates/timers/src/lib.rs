//! Timer queues and expiry policies without a clock; and, on top of them, what a live process needs:
//! a timer service, sleeps that keep their word, a poller that sleeps.
//!
//! Two halves, kept apart by the compiler:
//!
//! - The **core** ([`queue`]) has no clock and no I/O: time comes in as a number. It is
//!   `no_std`, and after warm-up it allocates nothing. The same code runs in a process, in the
//!   simulator and at 10⁹ × speed in a test.
//! - The **drivers** (feature `live`, on by default) have a clock, threads and the kernel.
//!
//! Times are nanoseconds of any one clock that does not run backwards, as `u64`.
//!
//! Start reading at [`queue::Queue`].
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod class;
#[cfg(feature = "live")]
pub mod clock;
mod expiry;
mod handle;
pub mod queue;
#[cfg(feature = "live")]
pub mod service;

pub use class::{Class, Kind, Level, Priority};
pub use expiry::Expiry;
pub use handle::{Handle, Stale};
