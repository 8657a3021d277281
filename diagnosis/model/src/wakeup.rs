//! What the explanation yields: a wakeup, its lateness cut into segments, each with one cause.

use crate::event::{Irq, TaskState};
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
    /// A call that waited for a lock, from its entry to its return; see [`Wakeup::lock`].
    Lock,
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
            Self::Lock => "lock",
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
    /// Which of the wakeup's [`stretches`](Wakeup::stretches) it is part of; 0 where there are none.
    pub stretch: u16,
}

/// A part of a wakeup in which the victim ran, or waited once. They follow each other without a gap
/// from the expiry to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// What the victim did.
    pub kind: StretchKind,
    /// When it began.
    pub start_ns: u64,
    /// How long it took.
    pub ns: u64,
}

/// What a victim did in a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StretchKind {
    /// It had not run yet: from its timer's expiry, or from waking, to its first run.
    Wakeup,
    /// It ran, in the kernel, on its way back to user space; or was preempted there.
    Kernel,
    /// It waited again, from leaving the CPU to running again.
    Blocked {
        /// The state in which it left.
        state: TaskState,
        /// For what, as far as can be told.
        on: BlockedOn,
        /// Who had to end the wait, where that is known.
        holder: TaskId,
    },
}

/// What a victim waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockedOn {
    /// Not known.
    Unknown,
    /// The lock that its call is for: a futex at this address.
    Futex(u64),
    /// A lock inside the kernel: it left in state D, or waits for a sleeping spinlock.
    KernelLock,
    /// A page that it touched.
    Page,
}

impl StretchKind {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wakeup => "wakeup",
            Self::Kernel => "kernel",
            Self::Blocked { .. } => "blocked",
        }
    }
}

/// What the kernel did with a task's priority for a lock's sake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boost {
    /// When.
    pub time_ns: u64,
    /// The task that was current: who lends its priority, or, at a release, mostly the target.
    pub by: TaskId,
    /// Whose priority.
    pub target: TaskId,
    /// Before.
    pub from: Prio,
    /// After; the same as `from` where a source cannot tell.
    pub to: Prio,
    /// The priority is given back rather than lent.
    pub released: bool,
    /// The target was in a call that gives a PI futex up, and not back from it.
    pub in_unlock: bool,
    /// Who ran in the target's place, where it was runnable and did not run.
    pub instead: Option<TaskId>,
}

/// The call that a wakeup of kind [`WakeupKind::Lock`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockCall {
    /// The futex operation, with its flags.
    pub op: u16,
    /// The futex' address.
    pub address: u64,
}

/// A link of the chain that led to a wakeup: who woke somebody, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// When.
    pub time_ns: u64,
    /// Who: a task, or a timer, an interrupt or a softirq that ran.
    pub by: Culprit,
    /// The woken one was a new task; `by` started it.
    pub started: bool,
    /// What the waker worked on, where it is a kworker that said so.
    pub work: NameId,
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
    /// Where the victim waited again: what it did, in order. Empty where it did not.
    pub stretches: Vec<Stretch>,
    /// Boosts and their ends that belong to its waiting, in order.
    pub boosts: Vec<Boost>,
    /// The call that a lock's wakeup is about.
    pub lock: Option<LockCall>,
    /// Who woke it, who woke that one, and so on, back to a timer, an interrupt or a task's start, or
    /// as far as is known. Empty where a timer or an interrupt woke it itself.
    pub chain: Vec<Link>,
}

impl Wakeup {
    /// Everybody who has a part in it, some of them more than once.
    pub fn people(&self) -> impl Iterator<Item = Culprit> {
        let segments = self.segments.iter().map(|segment| segment.culprit);
        let holders = self.stretches.iter().filter_map(|stretch| match stretch.kind {
            StretchKind::Blocked { holder, .. } => Some(Culprit::Task(holder)),
            _ => None,
        });
        let boosts = self.boosts.iter().flat_map(|boost| {
            let instead = boost.instead.unwrap_or(boost.target);
            [boost.by, boost.target, instead].map(Culprit::Task)
        });
        let chain = self.chain.iter().flat_map(|link| [link.by, Culprit::Function(link.work)]);
        segments.chain(holders).chain(boosts).chain(chain)
    }

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
