//! What the explanation yields: a wakeup, its lateness cut into segments, each with one cause.

use crate::event::{Irq, TaskState, Vector};
use crate::{CpuId, NameId, Prio, TaskId, TimerId};

/// A class of cause, by its name in reports and JSON. Causes are registered where they are found
/// (the `explain` crate); this is only what they are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cause(pub &'static str);

impl Cause {
    /// What no cause claims. Always in plain sight, never spread over others.
    pub const UNEXPLAINED: Self = Self("unexplained");
}

/// Who or what held a victim up. A tag as wide as what follows it is copied with that at once, which is done
/// millions of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum Culprit {
    /// Nobody is known.
    Nobody,
    /// A thread.
    Task(TaskId),
    /// A thread, or an interrupt or softirq that ran in it unseen.
    TaskOrInterrupt(TaskId),
    /// A timer: its function, and the thread that armed it (0 where the kernel itself did).
    Timer(TimerId, TaskId),
    /// An interrupt.
    Irq(Irq),
    /// An interrupt that another CPU sent: by which task, and for which function.
    Ipi(Vector, TaskId, NameId),
    /// A non-maskable interrupt, by its handler's function.
    Nmi(NameId),
    /// A softirq vector, at the end of an interrupt or where a task had softirqs disabled.
    Softirq(u32),
    /// A softirq vector in the thread that runs it.
    SoftirqIn(u32, TaskId),
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
    /// The host of a virtual machine, which ran something else; whether then, or only at some time between the
    /// CPU's events before and after.
    Hypervisor(bool),
    /// The clock-event device, whose interrupt takes so long to come whoever runs; in a guest the hypervisor is
    /// part of it.
    ClockEventDevice,
}

/// Settings that make a wakeup late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Setting {
    /// The thread's timer slack (`PR_SET_TIMERSLACK`), in nanoseconds.
    TimerSlack(u32),
    /// The slack that select, poll and epoll give their timeouts: 0.1 % of the timeout, 0.5 % for who is
    /// nice, at most 100 ms (`select_estimate_accuracy` in `fs/select.c`). No setting changes it.
    PollSlack,
    /// High-resolution timers fire with the tick alone (`highres=off`).
    LowResolution,
    /// The CPU bandwidth of a control group, by the thread that waited for it.
    CfsBandwidth(TaskId),
    /// The budget of a `SCHED_DEADLINE` thread.
    DeadlineBudget(TaskId),
    /// The bandwidth of all real-time tasks of a CPU.
    RtBandwidth,
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
    /// It lost the CPU in the middle of a run; the latency counts from then.
    Preempted,
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
            Self::Preempted => "preempted",
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
    /// Where in the kernel the culprit was, where a stack was taken: the folded frames of
    /// [`event::Stack`](crate::event::Stack). Evidence, which decides nothing.
    pub stack: NameId,
}

impl Segment {
    /// When it ended.
    pub fn end_ns(&self) -> u64 {
        self.start_ns + self.ns
    }
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
    /// Of a wait: where in the kernel the victim was meanwhile, where a stack was taken. Evidence, as a segment's is.
    pub stack: NameId,
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
    /// Whether missing events may hide part of the truth: the kernel lost them, or a CPU was silent.
    pub touched_by_loss: bool,
    /// Whether the kernel lost some of them, and counted the loss.
    pub near_loss: bool,
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
    /// Where in the kernel the victim had slept until it was woken, where a stack was taken. Evidence, as a segment's
    /// is.
    pub slept_in: NameId,
}

impl Default for Wakeup {
    /// One about which nothing is known.
    fn default() -> Self {
        Self {
            task: TaskId::IDLE,
            cpu: CpuId::default(),
            prio: Prio::default(),
            kind: WakeupKind::MarkOnly,
            timer: TimerId::UNKNOWN,
            expiry_ns: 0,
            lateness_ns: 0,
            to_user: false,
            touched_by_loss: false,
            near_loss: false,
            segments: Vec::new(),
            stretches: Vec::new(),
            boosts: Vec::new(),
            lock: None,
            chain: Vec::new(),
            slept_in: NameId::NONE,
        }
    }
}

impl Wakeup {
    /// Becomes one of which only the thread and the CPU are known, and keeps its memory.
    pub fn clear(&mut self, task: TaskId, cpu: CpuId) {
        (self.task, self.cpu, self.prio) = (task, cpu, Prio::default());
        (self.kind, self.timer, self.lock) = (WakeupKind::MarkOnly, TimerId::UNKNOWN, None);
        (self.expiry_ns, self.lateness_ns) = (0, 0);
        (self.to_user, self.touched_by_loss, self.near_loss) = (false, false, false);
        self.segments.clear();
        self.stretches.clear();
        self.boosts.clear();
        self.chain.clear();
        self.slept_in = NameId::NONE;
    }

    /// Everybody who has a part in it, some of them more than once.
    pub fn participants(&self) -> impl Iterator<Item = Culprit> {
        let segments = self
            .segments
            .iter()
            .flat_map(|segment| [segment.culprit, Culprit::Function(segment.stack)]);
        let holders = self.stretches.iter().flat_map(|stretch| match stretch.kind {
            StretchKind::Blocked { holder, .. } => {
                [Culprit::Task(holder), Culprit::Function(stretch.stack)]
            }
            _ => [Culprit::Nobody; 2],
        });
        let boosts = self.boosts.iter().flat_map(|boost| {
            let instead = boost.instead.unwrap_or(boost.target);
            [boost.by, boost.target, instead].map(Culprit::Task)
        });
        let chain = self.chain.iter().flat_map(|link| [link.by, Culprit::Function(link.work)]);
        let slept_in = [Culprit::Function(self.slept_in)];
        segments.chain(holders).chain(boosts).chain(chain).chain(slept_in)
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
