//! Timer queues and expiry policies without a clock; and, on top of them, what a live process needs:
//! a timer service, sleeps that keep their word, a poller that sleeps.
//!
//! Two halves, kept apart by the compiler:
//!
//! - The **core** ([`queue`], [`policy`]) has no clock and no I/O: time comes in as a number. It is
//!   `no_std`, and after warm-up it allocates nothing. The same code runs in a process, in the
//!   simulator and at 10⁹ × speed in a test.
//! - The **drivers** (feature `live`, on by default) have a clock, threads and the kernel.
//!
//! Times are nanoseconds of any one clock that does not run backwards, as `u64`.
//!
//! ```
//! use tardy_timers::{Expiry, queue::{Precise, Queue}};
//!
//! let mut queue = Precise::new();
//! let tea = queue.insert(Expiry::at(3_000), "tea")?;
//! queue.insert(Expiry::at(1_000), "toast")?;
//! queue.rearm(tea, Expiry::at(4_000))?;
//!
//! assert_eq!(queue.next_expiry_ns(), Some(1_000));
//! assert_eq!(queue.pop_expired(1_500).map(|timer| timer.payload), Some("toast"));
//! assert_eq!(queue.pop_expired(1_500), None);
//! assert_eq!(queue.cancel(tea)?, "tea");
//! assert!(queue.cancel(tea).is_err()); // stale: never another's timer
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start reading at [`queue::Queue`], then `queue/precise/order.rs`; of the policies at
//! [`policy::Policy`].
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod class;
mod expiry;
mod handle;
pub mod policy;
pub mod queue;

#[cfg(feature = "live")]
pub mod clock;
#[cfg(feature = "live")]
pub mod poller;
#[cfg(feature = "live")]
pub mod service;
#[cfg(feature = "live")]
pub mod sleep;

pub use class::{Class, Kind, Level, Priority};
pub use expiry::Expiry;
pub use handle::{Handle, Stale};
