//! What the explanation yields: a wakeup, its lateness cut into segments, each with one cause.

use crate::event::Irq;
use crate::{CpuId, NameId, Prio, TaskId, TimerId};

/// A class of cause, by its name in reports and JSON. Causes are registered where they are found
/// (the `explain` crate); this is only what they are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cause(pub &'static str);

impl Cause {
    /// What no cause claims. Always in plain sight, never spread over others.
    pub const UNEXPLAINED: Self = Self("unexplained");
}

/// Who or what held a victim up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Culprit {
    /// Nobody is known.
    Nobody,
    /// A thread.
    Task(TaskId),
    /// A timer: its function, and the thread that armed it (0 where the kernel itself did).
    Timer(TimerId, TaskId),
    /// An interrupt.
    Irq(Irq),
    /// A softirq vector.
    Softirq(u32),
    /// An idle state of the CPU.
    IdleState(u32),
    /// An idle state in which the CPU is awake and polls.
    Polling(u32),
    /// A function of the kernel.
    Function(NameId),
    /// A setting.
    Setting(Setting),
    /// A CPU that had to be told, or another one chosen.
    Cpu(CpuId),
}

/// Settings that make a wakeup late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Setting {
    /// The thread's timer slack (`PR_SET_TIMERSLACK`), in nanoseconds.
    TimerSlack(u32),
}

/// What made a thread runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WakeupKind {
    /// A timer: there is an expiry, and the lateness counts from it.
    Timer,
    /// Another task; the latency counts from waking, as for all that follow.
    Task,
    /// An interrupt handler.
    Irq,
    /// A softirq.
    Softirq,
    /// It is a new task's first run.
    New,
    /// The thread's own mark tells of a wakeup whose events are missing.
    MarkOnly,
}

impl WakeupKind {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timer => "timer",
            Self::Task => "task",
            Self::Irq => "irq",
            Self::Softirq => "softirq",
            Self::New => "new",
            Self::MarkOnly => "mark_only",
        }
    }
}

/// A stretch of a lateness with one cause and one culprit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Why the victim did not run.
    pub cause: Cause,
    /// Who it was.
    pub culprit: Culprit,
    /// When it began.
    pub start_ns: u64,
    /// How long it took.
    pub ns: u64,
}

/// One wakeup of one thread. Its segments are in time order, touch each other, begin at
/// `expiry_ns` and sum to `lateness_ns` exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// The victim.
    pub task: TaskId,
    /// The CPU it came to run on.
    pub cpu: CpuId,
    /// Its priority when it was woken.
    pub prio: Prio,
    /// What woke it.
    pub kind: WakeupKind,
    /// The timer that woke it, or [`TimerId::UNKNOWN`].
    pub timer: TimerId,
    /// The soft expiry of a timed wakeup; the time of waking of any other.
    pub expiry_ns: u64,
    /// How late it ran.
    pub lateness_ns: u64,
    /// Whether it ends at the return to user space (else at the switch to the victim).
    pub to_user: bool,
    /// Whether lost events may have hidden part of the truth.
    pub touched_by_loss: bool,
    /// The balance.
    pub segments: Vec<Segment>,
}

impl Wakeup {
    /// Checks the balance: consecutive, non-overlapping segments that sum to the lateness.
    pub fn is_balanced(&self) -> bool {
        let mut at_ns = self.expiry_ns;
        for segment in &self.segments {
            if segment.start_ns != at_ns || segment.ns == 0 {
                return false;
            }
            at_ns += segment.ns;
        }
        at_ns == self.expiry_ns + self.lateness_ns
    }
}
