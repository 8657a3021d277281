//! A simulated kernel, as far as it decides when a thread wakes: the fourth source of events, and the only one
//! of which the truth is known.
//!
//! A [`System`] is a [`Machine`], a [`Kernel`] and a [`Workload`]. A [`Simulation`] of it lets its CPUs take
//! timer interrupts, run callbacks and softirqs, wake, preempt and switch threads, each at the cost that the
//! machine says. Timers are kept and fired by the policies of `tardy_timers`. Whoever looks on is an
//! [`Observer`]: of the events that a kernel would record, of the state itself, or of latenesses.
//!
//! The same seed gives the same events on any machine. It never reads a clock, and what it leaves out is said
//! in [`machine`](Machine) and beside each rule. Start reading at `engine/mod.rs`.
#![forbid(unsafe_code)]

mod cost;
mod engine;
pub mod file;
pub mod fit;
mod idle;
mod kernel;
mod machine;
mod observer;
mod quantiles;
mod random;
mod record;
mod replay;
mod sched;
mod system;
pub mod truth;
mod workload;

pub use cost::{COST_NS_MAX, Cost, CostError, PARTS_MAX, Part};
pub use engine::{START_NS, Simulation};
pub use idle::{ColdStep, Coldness, HaltPolling, IdleState, LongSleep, PollLimits, PollWindow};
pub use kernel::{Bandwidth, Kernel, Preemption, Rtmutex, Softirqs, Throttles};
pub use machine::{CPUS_MAX, Machine, Theft};
pub use observer::{
    Doing, Fired, Interrupt, Observer, PutOff, State, ThreadAt, Throttle, TimerAt, Waker,
};
pub use random::{Entity, Stream};
pub use record::{Recorder, Simulated};
pub use replay::{Arrival, NO_THREAD, Outside, PERMILLE_MAX, Pace, Script, Scripted, Taken};
pub use system::{GROUP_WEIGHTS, SPAN_NS_MAX, System, SystemError};
pub use workload::{Device, Group, Measured, Operation, Policy, Sections, Thread, Workload};
