//! What a CPU does.

use tardy_model::event::{Irq, Vector, softirq};
use tardy_model::{Culprit, NameId, Prio, TaskId, TimerId};

/// What runs a timer's callback in a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunBy {
    /// The softirq of timers of the timer wheel.
    TimerSoftirq,
    /// The softirq of high-resolution timers.
    HrtimerSoftirq,
    /// No softirq: the kernel has the thread for timers alone.
    TimerThread,
}

impl RunBy {
    /// The softirq's vector, where it is one.
    pub const fn vector(self) -> Option<u32> {
        match self {
            Self::TimerSoftirq => Some(softirq::TIMER),
            Self::HrtimerSoftirq => Some(softirq::HRTIMER),
            Self::TimerThread => None,
        }
    }
}

/// What a CPU does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Not known: before its first event, or events were lost.
    Unknown,
    /// It sleeps, or is on the way into or out of sleep. `u32::MAX` before a state was chosen,
    /// and where there is none to choose.
    Idle(u32),
    /// It has slept in this state, is awake again, and on its way out of the idle loop.
    Awake(u32),
    /// It has nothing to do, is awake, and polls in this idle state.
    Polling(u32),
    /// A task, at its priority, has the CPU idle (`play_idle`, as powerclamp's `idle_inject` does): the state, and
    /// whether it is awake again and on its way out of that.
    InjectedIdle(u32, bool, TaskId, Prio),
    /// A task, at its priority; [`Prio::UNKNOWN`] before an event told it.
    Task(TaskId, Prio),
    /// An interrupt handler.
    Irq(Irq),
    /// An interrupt that another CPU sent: by whom, and what for.
    Ipi(Vector, TaskId, NameId),
    /// A non-maskable interrupt's handler.
    Nmi(NameId),
    /// Nothing: a hypervisor ran something else. Whether that is sure, or only that it was somewhere between
    /// the events before and after.
    Stolen(bool),
    /// A task, at its priority, waits for a callback on another CPU, from which a hypervisor takes time; and whether
    /// that is sure ([`Self::Stolen`]).
    HeldUp(bool, TaskId, Prio),
    /// A softirq's action at the end of an interrupt, or where a task had them disabled.
    Softirq(u32),
    /// A softirq's action in a thread, which the scheduler may preempt or prefer: `ktimers`, `ksoftirqd`,
    /// a threaded interrupt; on `PREEMPT_RT` any.
    ThreadedSoftirq(u8, TaskId, Prio),
    /// A timer's callback in an interrupt, and the expiry loop's work that led to it; with the thread that armed it, and
    /// the number of the callback on its CPU.
    Expiry(TimerId, TaskId, u32),
    /// The same in a softirq that no thread runs.
    SoftExpiry(TimerId, TaskId, u32),
    /// The same in a thread, which runs the softirq ([`Self::ThreadedSoftirq`]) or is there for timers alone; the
    /// thread is the one that runs it, at its priority.
    ThreadedExpiry(RunBy, TimerId, u32, TaskId, Prio),
}

impl Activity {
    /// Whether the CPU has nothing to do.
    #[inline]
    pub const fn is_idle(self) -> bool {
        matches!(self, Self::Idle(_) | Self::Awake(_) | Self::Polling(_))
    }

    /// Whether it has nothing to do, or has that for somebody's sake.
    #[inline]
    pub const fn may_idle(self) -> bool {
        self.is_idle() || matches!(self, Self::InjectedIdle(..))
    }

    /// The idle state that it sleeps in, or is on the way into or out of, whoever has it idle.
    pub const fn idle_state(self) -> Option<u32> {
        match self {
            Self::Idle(state) | Self::Awake(state) | Self::InjectedIdle(state, ..) => Some(state),
            _ => None,
        }
    }

    /// Whether it sleeps, and is not awake again.
    pub const fn is_asleep(self) -> bool {
        matches!(self, Self::Idle(_) | Self::InjectedIdle(_, false, ..))
    }

    /// Whether it may put threads into its queue that other CPUs have woken (`sched_ttwu_pending`): in an
    /// interrupt that they send for that, or on the way out of idle.
    pub const fn queues_for_others(self) -> bool {
        let (Self::Ipi(sent, ..) | Self::Irq(Irq::Vector(sent))) = self else {
            return self.is_idle();
        };
        matches!(sent, Vector::RESCHEDULE | Vector::CALL_FUNCTION | Vector::CALL_FUNCTION_SINGLE)
    }

    /// Whether it is in an interrupt or in a softirq that no thread runs: nobody is scheduled meanwhile.
    pub const fn is_interrupt(self) -> bool {
        matches!(
            self,
            Self::Irq(_)
                | Self::Ipi(..)
                | Self::Nmi(_)
                | Self::Softirq(_)
                | Self::Expiry(..)
                | Self::SoftExpiry(..)
                | Self::Stolen(_)
        )
    }

    /// The task that the scheduler has chosen for what is done, with its priority.
    pub const fn thread(self) -> Option<(TaskId, Prio)> {
        match self {
            Self::Task(task, prio)
            | Self::InjectedIdle(.., task, prio)
            | Self::HeldUp(_, task, prio)
            | Self::ThreadedSoftirq(_, task, prio)
            | Self::ThreadedExpiry(_, _, _, task, prio) => Some((task, prio)),
            _ => None,
        }
    }

    /// The number of the callback that runs, on its CPU.
    pub const fn callback(self) -> Option<u32> {
        match self {
            Self::Expiry(_, _, number)
            | Self::SoftExpiry(_, _, number)
            | Self::ThreadedExpiry(_, _, number, ..) => Some(number),
            _ => None,
        }
    }

    /// The one to name for it.
    #[inline]
    pub fn culprit(self) -> Culprit {
        match self {
            Self::Unknown => Culprit::Nobody,
            Self::Idle(state) | Self::Awake(state) => Culprit::IdleState(state),
            Self::Polling(state) => Culprit::Polling(state),
            Self::Task(task, _) | Self::InjectedIdle(_, _, task, _) | Self::HeldUp(_, task, _) => {
                Culprit::Task(task)
            }
            Self::Irq(irq) => Culprit::Irq(irq),
            Self::Ipi(vector, by, function) => Culprit::Ipi(vector, by, function),
            Self::Nmi(handler) => Culprit::Nmi(handler),
            Self::Stolen(sure) => Culprit::Hypervisor(sure),
            Self::Softirq(vector) => Culprit::Softirq(vector),
            Self::ThreadedSoftirq(vector, task, _) => Culprit::SoftirqIn(vector.into(), task),
            Self::ThreadedExpiry(run_by, _, _, task, _) => match run_by.vector() {
                Some(vector) => Culprit::SoftirqIn(vector, task),
                None => Culprit::Task(task),
            },
            Self::Expiry(timer, owner, _) | Self::SoftExpiry(timer, owner, _) => {
                Culprit::Timer(timer, owner)
            }
        }
    }
}
