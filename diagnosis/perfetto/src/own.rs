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
/// A priority is lent or taken back, where the numbers alone would say the contrary (the new one is not
/// known when it is taken back): [`PID`], [`OLD_PRIO`], [`NEW_PRIO`], [`RELEASED`].
pub const PRIORITY: &str = "tardy_priority";
/// An idle state only polls: [`STATE`].
pub const POLLS: &str = "tardy_polls";
/// A non-maskable interrupt has been handled: [`FUNCTION`], [`DURATION`].
pub const NMI: &str = "tardy_nmi";
/// An interrupt is sent to other CPUs: [`TARGETS`], [`FIRST`], [`FUNCTION`].
pub const IPI: &str = "tardy_ipi";
/// Interrupts or preemption are off from here on, or on again: [`SECTION`], [`FUNCTION`].
pub const SECTION_BEGIN: &str = "tardy_section_begin";
/// See [`SECTION_BEGIN`].
pub const SECTION_END: &str = "tardy_section_end";
/// `CLOCK_REALTIME` was set: [`BY`], [`SINCE`].
pub const CLOCK_SET: &str = "tardy_clock_set";
/// What an idle state is: [`STATE`], [`DURATION`] (its exit latency), [`FUNCTION`] (its name).
pub const IDLE_STATE: &str = "tardy_idle_state";
/// The control group in which the task is counted: [`FUNCTION`] (its path).
pub const GROUP: &str = "tardy_group";
/// How much CPU time a control group may use: [`FUNCTION`] (its path), [`DURATION`] in each [`PERIOD`].
pub const GROUP_BANDWIDTH: &str = "tardy_group_bandwidth";
/// What a control group, or a session, weighs: [`FUNCTION`] (its path), [`WEIGHT`].
pub const GROUP_WEIGHT: &str = "tardy_group_weight";
/// The CPUs on which the task may run: [`TARGETS`], a bit each.
pub const TASK_CPUS: &str = "tardy_task_cpus";
/// The kinds of events that were recorded: [`KINDS`].
pub const RECORDED: &str = "tardy_recorded";
/// A hypervisor took time from the CPU.
pub const STOLEN: &str = "tardy_stolen";
/// The CPU runs the task when the trace begins: [`NEW_PRIO`].
pub const CURRENT: &str = "tardy_current";

/// A kernel stack, where something was late: [`PID`] (whose), [`TAKEN`], [`DURATION`] (how late), [`FUNCTION`]
/// (the frames).
pub const STACK: &str = "tardy_stack";

/// Timers of the wheel count ticks, and recordings nanoseconds: in the traces that tardy writes a tick is
/// a nanosecond, and the count is ahead of the clock by this, so that it is nobody's 32-bit number.
pub const TICKS_AHEAD: u64 = 1 << 33;

/// The clock of all times of the trace, where it is not `CLOCK_MONOTONIC`: [`FUNCTION`] (its name, or
/// `unknown`).
pub const CLOCK: &str = "tardy_clock";

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
/// The name of a function, or another name.
pub const FUNCTION: &str = "function";
/// In nanoseconds.
pub const SLACK: &str = "slack_ns";
/// As in `hrtimer_start`.
pub const MODE: &str = "mode";
/// The task.
pub const PID: &str = "pid";
/// Its priority before.
pub const OLD_PRIO: &str = "oldprio";
/// Its priority after.
pub const NEW_PRIO: &str = "newprio";
/// 1 where it was taken back.
pub const RELEASED: &str = "released";
/// 1 where the group keeps the task from running from its next switch on.
pub const THROTTLED: &str = "throttled";
/// The idle state's number.
pub const STATE: &str = "state";
/// In nanoseconds.
pub const DURATION: &str = "duration_ns";
/// In nanoseconds.
pub const PERIOD: &str = "period_ns";
/// As a thread of nice 0 has 1024.
pub const WEIGHT: &str = "weight";
/// CPUs, a bit each.
pub const TARGETS: &str = "targets";
/// The CPU of the lowest bit.
pub const FIRST: &str = "first";
/// 0 interrupts, 1 preemption.
pub const SECTION: &str = "section";
/// 0 what was interrupted, 1 where the CPU was left, 2 where the task had slept.
pub const TAKEN: &str = "taken";
/// Nanoseconds; forward is positive.
pub const BY: &str = "by_ns";
/// A bit for each tag of the event model.
pub const KINDS: &str = "kinds";
