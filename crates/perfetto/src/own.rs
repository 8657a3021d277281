//! Events that Perfetto has no message for, as [`GenericEvent`](crate::GenericEvent)s of these names.
//!
//! Any reader of Perfetto's shows them among a CPU's events, with the names of their fields. Unless
//! said otherwise they speak of the event's own `pid`.

/// The thread is back in user space and says so itself: [`EXPIRY`], [`SEQUENCE`].
pub const MARK: &str = "tardy_mark";
/// What is known of the task: [`PROCESS`], [`FLAGS`].
pub const TASK: &str = "tardy_task";
/// Events are missing on this CPU: [`SINCE`], [`COUNT`]. The first event of a bundle that says so.
pub const LOSS: &str = "tardy_loss";
/// What is known of a high-resolution timer that is about to expire, where its arming is not in the
/// trace or does not tell it: [`TIMER`], [`FUNCTION`], [`EXPIRY`], [`SLACK`], [`MODE`]; the task is the
/// one that sleeps on it.
pub const ARMED: &str = "tardy_armed";
/// Somebody lends no priority any more, and which one is left is not known: [`PID`], [`PRIO`].
pub const RELEASED: &str = "tardy_released";
/// An idle state only polls: [`STATE`].
pub const POLLS: &str = "tardy_polls";

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub const EXPIRY: &str = "expiry_ns";
/// Counts a thread's marks.
pub const SEQUENCE: &str = "sequence";
/// The process.
pub const PROCESS: &str = "process";
/// As the event model has them.
pub const FLAGS: &str = "flags";
/// The time of the first event that is missing.
pub const SINCE: &str = "since_ns";
/// How many are missing; 4294967295 where that is not known.
pub const COUNT: &str = "count";
/// The timer's address.
pub const TIMER: &str = "hrtimer";
/// The name of its function.
pub const FUNCTION: &str = "function";
/// In nanoseconds.
pub const SLACK: &str = "slack_ns";
/// As in `hrtimer_start`.
pub const MODE: &str = "mode";
/// The task.
pub const PID: &str = "pid";
/// Its priority before.
pub const PRIO: &str = "prio";
/// The idle state's number.
pub const STATE: &str = "state";
