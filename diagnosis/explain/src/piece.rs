//! The smallest part of a lateness: one phase of the wakeup while the CPU did one thing.

use tardy_model::event::Irq;
use tardy_model::{CpuId, Culprit, Prio, TaskId, TimerId, WakeupKind};

/// What a CPU does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Not known: before its first event, or events were lost.
    Unknown,
    /// It sleeps, or is on the way into or out of sleep. `u32::MAX` before a state was chosen,
    /// and where there is none to choose.
    Idle(u32),
    /// It has nothing to do, is awake, and polls in this idle state.
    Polling(u32),
    /// A task, at its priority; [`Prio::UNKNOWN`] before an event told it.
    Task(TaskId, Prio),
    /// An interrupt handler.
    Irq(Irq),
    /// A softirq's action.
    Softirq(u32),
    /// A timer's callback, and the expiry loop's work that led to it; with the thread that armed it.
    Expiry(TimerId, TaskId),
}

impl Activity {
    /// Whether the CPU has nothing to do.
    pub fn is_idle(self) -> bool {
        matches!(self, Self::Idle(_) | Self::Polling(_))
    }

    /// The one to name for it.
    pub fn culprit(self) -> Culprit {
        match self {
            Self::Unknown => Culprit::Nobody,
            Self::Idle(state) => Culprit::IdleState(state),
            Self::Polling(state) => Culprit::Polling(state),
            Self::Task(task, _) => Culprit::Task(task),
            Self::Irq(irq) => Culprit::Irq(irq),
            Self::Softirq(vector) => Culprit::Softirq(vector),
            Self::Expiry(timer, owner) => Culprit::Timer(timer, owner),
        }
    }
}

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
    /// From that interrupt's entry to the callback, or to the raise of the softirq that runs it.
    Interrupt,
    /// From the raise to the softirq's begin.
    SoftirqWait,
    /// From the softirq's begin to the callback.
    SoftirqRun,
    /// From the callback's begin to waking.
    Callback,
    /// From waking to the move to another CPU, where the waker chose one.
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
}

impl Phase {
    /// Whether the victim waits for something, after it has run.
    pub fn is_blocked(self) -> bool {
        matches!(self, Self::Blocked | Self::BlockedOnPage)
    }

    /// Whether the victim is on a CPU.
    pub fn is_on_cpu(self) -> bool {
        matches!(self, Self::Running | Self::Faulting)
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
    /// Hard minus soft expiry.
    pub slack_ns: u32,
}

/// A stretch of a wakeup's lateness in one phase, while the CPU did one thing.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// The wakeup.
    pub case: &'a Case,
    /// Where it stood.
    pub phase: Phase,
    /// What the CPU did that mattered in this phase.
    pub activity: Activity,
    /// Which CPU that was.
    pub cpu: CpuId,
    /// The CPU that woke the victim.
    pub waker_cpu: CpuId,
    /// The CPU chose others although the victim was first in line, see `passed_over.rs`.
    pub passed_over: bool,
    /// Where it waits again: who had to do something for it, or kept that one from doing it.
    pub held_by: Culprit,
}
