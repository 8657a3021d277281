//! The smallest part of a lateness: one phase of the wakeup while the CPU did one thing.

use tardy_followers::Activity;
use tardy_model::{CpuId, Culprit, Prio, TaskId, TimerId, WakeupKind};

/// Where a wakeup stands. Phases follow each other in this order, as far as a wakeup has them; those
/// from [`Phase::Runnable`] on may repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The soft expiry has passed and the timer is not armed yet.
    Unarmed,
    /// The timer may fire but need not: soft expiry to hard expiry.
    Slack,
    /// The timer should fire, and can only with a tick: to that tick.
    Coarse,
    /// The timer must fire: to the entry of the interrupt that will.
    Pending,
    /// From that interrupt's entry to the callback, or to where the softirq or thread is asked that runs it.
    Interrupt,
    /// From there to its begin.
    DeferredWait,
    /// From its begin to the callback.
    DeferredRun,
    /// From the callback's begin to waking.
    Callback,
    /// From waking until the victim is on a CPU's queue, where the waker chose another one.
    Placing,
    /// The victim may run and does not.
    Runnable,
    /// The victim runs and is not back in user space.
    Running,
    /// The victim touched a page that was not there, and runs in the kernel to get it.
    Faulting,
    /// The victim waits again before it is back in user space.
    Blocked,
    /// The same, for a page that it touched.
    BlockedOnPage,
    /// It is stopped before it is back in user space.
    Stopped,
}

impl Phase {
    /// All of them.
    pub(crate) const ALL: &[Self] = &[
        Self::Unarmed,
        Self::Slack,
        Self::Coarse,
        Self::Pending,
        Self::Interrupt,
        Self::DeferredWait,
        Self::DeferredRun,
        Self::Callback,
        Self::Placing,
        Self::Runnable,
        Self::Running,
        Self::Faulting,
        Self::Blocked,
        Self::BlockedOnPage,
        Self::Stopped,
    ];

    /// From when its timer must fire until the victim is on a CPU: what any CPU does there makes it late.
    pub const ON_ITS_WAY: &[Self] = &[
        Self::Pending,
        Self::Interrupt,
        Self::DeferredWait,
        Self::DeferredRun,
        Self::Callback,
        Self::Placing,
        Self::Runnable,
    ];

    /// Whether it is one of [`Self::ON_ITS_WAY`].
    #[inline]
    pub(crate) const fn is_on_its_way(self) -> bool {
        (Self::Pending as u8) <= self as u8 && self as u8 <= Self::Runnable as u8
    }

    /// Whether the victim waits for something, after it has run.
    pub fn is_blocked(self) -> bool {
        matches!(self, Self::Blocked | Self::BlockedOnPage | Self::Stopped)
    }

    /// Whether the victim is on a CPU.
    pub fn is_on_cpu(self) -> bool {
        matches!(self, Self::Running | Self::Faulting)
    }
}

/// What kind of thing the CPU did in a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It is not known.
    Unknown,
    /// It slept, polled, or was on its way out.
    Idle,
    /// It ran the victim, or a softirq or a timer's callback in it; so of all tasks that follow.
    Own,
    /// It ran a task of a higher priority than the victim's.
    Above,
    /// It ran one that the victim shares the CPU with.
    Equal,
    /// It ran one that should have been preempted.
    Below,
    /// It ran one of which it is not known how it stands to the victim.
    Task,
    /// It was in an interrupt or a softirq.
    Interrupt,
    /// It was in a timer's callback.
    Expiry,
    /// It was in the very callback that woke the victim, or was to, in whatever context.
    Callback,
    /// Nothing: a hypervisor had stopped it, or another CPU for which it waited.
    Stolen,
    /// Whatever it did: the scheduler did not let the victim run, and it is known why.
    Refused,
}

impl Doing {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::Unknown,
        Self::Idle,
        Self::Own,
        Self::Above,
        Self::Equal,
        Self::Below,
        Self::Task,
        Self::Interrupt,
        Self::Expiry,
        Self::Callback,
        Self::Stolen,
        Self::Refused,
    ];

    /// How a task stands to the victim, by their priorities.
    #[inline]
    fn of_task(prio: Prio, victim: Prio) -> Self {
        if prio.is_fair() && victim.is_fair() {
            Self::Equal
        } else if !prio.is_known() || !victim.is_known() {
            Self::Task
        } else if prio.is_realtime() && prio < victim {
            Self::Above
        } else if prio.may_run_before(victim) {
            Self::Equal
        } else {
            Self::Below
        }
    }
}

/// What is the same for all pieces of a wakeup.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The victim.
    pub task: TaskId,
    /// Its priority when it was woken.
    pub prio: Prio,
    /// What woke it.
    pub kind: WakeupKind,
    /// The timer that woke it.
    pub timer: TimerId,
    /// The callback in which that was: the CPU, and the number of the callback there.
    pub callback: Option<(CpuId, u32)>,
    /// Who armed that, where a thread was seen to.
    pub armed_by: TaskId,
    /// Hard minus soft expiry.
    pub slack_ns: u32,
    /// The slack is a share of the timeout of select, poll or epoll, not the thread's timer slack.
    pub is_poll_slack: bool,
    /// The timer is none of the wheel's and fires with the tick all the same.
    pub in_tick: bool,
    /// The thread that the kernel has for such timers, where one runs its callback; else [`TaskId::IDLE`].
    pub timer_thread: TaskId,
    /// The thread that runs the softirq of its callback, where one does, else [`TaskId::IDLE`]; and its priority.
    pub softirq_thread: (TaskId, Prio),
}

/// Why a CPU did not run the victim although nothing that may run first did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A bandwidth was used up.
    Throttled(Culprit),
    /// It idled by choice, and no event tells whose.
    ForcedIdle,
    /// It chose a task of lower priority, and nothing tells why.
    Unknown,
}

/// A stretch of a wakeup's lateness in one phase, while the CPU did one thing.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Piece<'a> {
    /// The wakeup.
    pub case: &'a Case,
    /// Where it stood.
    pub phase: Phase,
    /// What the CPU did that mattered in this phase.
    pub activity: &'a Activity,
    /// What kind of thing that was to the victim.
    pub doing: Doing,
    /// The victim's priority then.
    pub prio: Prio,
    /// The victim turned out to have another priority when it ran, and no event tells since when.
    pub prio_after: Prio,
    /// Which CPU that was; [`CpuId::UNKNOWN`] where no event tells.
    pub cpu: CpuId,
    /// The CPU that woke the victim.
    pub waker_cpu: CpuId,
    /// The CPU of the phase that comes after this one: while it is put on a queue, the one that was chosen.
    pub next_cpu: CpuId,
    /// The scheduler did not let the victim run, see `refusal.rs`.
    pub refusal: Option<Refusal>,
    /// The stream shows that interrupts were off, while the timer's was awaited, or preemption, while the
    /// victim could run.
    pub in_section: bool,
    /// The stream shows that interrupts were on, while the timer's was awaited.
    pub irqs_on: bool,
    /// It is a wakeup by a timer, and that timer was armed by then: its interrupt may run others' callbacks, too.
    pub by_timer: bool,
    /// Interrupts and softirqs are recorded: none can run unseen in what looks like a task.
    pub sees_interrupts: bool,
    /// Interrupts are recorded, whatever is known of softirqs.
    pub sees_hard_interrupts: bool,
    /// The idle state's exit latency is over, by its driver's table, or by what any CPU can take: the CPU should be
    /// awake.
    pub is_past_exit: bool,
    /// It was awake before, and has had the time for its way out of the idle loop.
    pub is_past_way_out: bool,
    /// The timer's interrupt could not have come yet: it takes as long as that whoever runs.
    pub in_delivery: bool,
    /// The kernel put the timer's interrupt off, as the last one had taken too long: by whom.
    pub put_off: Option<Culprit>,
    /// Where it waits again: who had to do something for it, or kept that one from doing it. Where its timer is not
    /// armed yet: who kept it from that.
    pub held_by: Culprit,
}

impl Piece<'_> {
    /// What kind of thing the CPU did, by all else that is known of the piece: [`Self::doing`].
    #[expect(clippy::inline_always, reason = "it is asked of every piece")]
    #[inline(always)]
    pub(crate) fn what_is_done(&self) -> Doing {
        if matches!(self.refusal, Some(Refusal::Throttled(_) | Refusal::ForcedIdle)) {
            return Doing::Refused;
        }
        match *self.activity {
            Activity::Unknown => Doing::Unknown,
            Activity::Idle(_) | Activity::Awake(_) | Activity::Polling(_) => Doing::Idle,
            Activity::InjectedIdle(_, _, task, prio) => self.injected(task, prio),
            Activity::Irq(_) | Activity::Ipi(..) | Activity::Nmi(_) | Activity::Softirq(_) => {
                Doing::Interrupt
            }
            Activity::Expiry(_, _, number)
            | Activity::SoftExpiry(_, _, number)
            | Activity::ThreadedExpiry(_, _, number, ..)
                if self.is_own(number) =>
            {
                Doing::Callback
            }
            Activity::Expiry(..) | Activity::SoftExpiry(..) => Doing::Expiry,
            Activity::Task(task, prio)
            | Activity::ThreadedSoftirq(_, task, prio)
            | Activity::ThreadedExpiry(_, _, _, task, prio) => self.standing(task, prio),
            // Interrupts come to it all the same.
            Activity::HeldUp(_, task, prio) if self.phase == Phase::Pending => {
                self.standing(task, prio)
            }
            Activity::Stolen(_) | Activity::HeldUp(..) => Doing::Stolen,
        }
    }

    /// Who ran, where an interrupt or a softirq may have run in it unseen unless `sees_all`: then it may have been
    /// that, and an idle CPU has done nothing.
    pub(crate) fn who_ran(&self, sees_all: bool) -> Culprit {
        match *self.activity {
            activity if sees_all => activity.culprit(),
            Activity::Idle(_) | Activity::Awake(_) | Activity::InjectedIdle(..) => Culprit::Nobody,
            Activity::Task(task, _) => Culprit::TaskOrInterrupt(task),
            activity => activity.culprit(),
        }
    }

    /// Whether a callback of this CPU is the one that wakes the victim, while that is not there yet.
    #[inline]
    fn is_own(&self, number: u32) -> bool {
        self.case.callback == Some((self.cpu, number)) && self.phase.is_on_its_way()
    }

    /// What a task is to the victim that has the CPU idle: it sleeps, until who may run first is there to run.
    fn injected(&self, task: TaskId, prio: Prio) -> Doing {
        match self.standing(task, prio) {
            standing if self.phase == Phase::Runnable && standing != Doing::Below => standing,
            _ => Doing::Idle,
        }
    }

    /// What a task is to the victim, which had one priority, or another.
    #[inline]
    pub(crate) fn standing(&self, task: TaskId, prio: Prio) -> Doing {
        if task == self.case.task {
            return Doing::Own;
        }
        let standing = Doing::of_task(prio, self.prio);
        let is_sure =
            self.prio == self.prio_after || standing == Doing::of_task(prio, self.prio_after);
        if is_sure { standing } else { Doing::Task }
    }
}
