//! System calls of scheduling and timers that libraries lack: the scheduling policy of any thread, by its
//! number, sleeps that take a number, and the level at which sleeps expire.
//!
//! Libraries change that of the calling thread, or of one that they have a `pthread_t` of. Kernel
//! threads and threads of other processes have a number only. For those it is `sched_setattr(2)`, and how
//! a policy is written. The calls that sleep ([`SleepCall`]) and
//! the levels ([`set_timer_level`]) are those of the kernel `policies`.
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
mod level;
mod policy;
mod sleep;

pub use call::{Attributes, attributes, of, set, set_attributes};
pub use level::{TIMER_LEVEL_MAX, set_timer_level, timer_level};
pub use policy::{Policy, PolicyError};
pub use sleep::SleepCall;
