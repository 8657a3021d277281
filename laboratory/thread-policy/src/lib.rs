//! The scheduling policy of any thread, by its number.
//!
//! Libraries change that of the calling thread, or of one that they have a `pthread_t` of. Kernel
//! threads and threads of other processes have a number only. This crate is the one system call for
//! those, `sched_setattr(2)`, and how a policy is written.
//!
//! ```
//! use tardy_thread_policy::Policy;
//!
//! let policy: Policy = "fifo:70".parse()?;
//! assert_eq!(policy, Policy::Fifo { prio: 70 });
//! assert_eq!(policy.to_string(), "fifo:70");
//! # Ok::<(), tardy_thread_policy::PolicyError>(())
//! ```
//!
//! What it never does: remember what was before; whoever changes a policy keeps that ([`of`]
//! tells it) and puts it back. Deadline budgets are neither told nor set.

mod call;
mod policy;

pub use call::{of, set};
pub use policy::{Policy, PolicyError};
