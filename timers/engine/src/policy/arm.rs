//! What a timer says of itself when it is armed under a policy.

use crate::{Class, Expiry, Kind, Level, Priority};

/// A timer to be armed: when, of what class, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arm {
    /// When it may and should fire.
    pub expiry: Expiry,
    /// Precise or coarse, and where its priority comes from.
    pub class: Class,
    /// The priority of the task that arms it: 0 is not real-time, 1–99 are `SCHED_FIFO`'s and
    /// `SCHED_RR`'s. More than 99 counts as 99.
    pub task_priority: u8,
    /// A thread sleeps on it (nanosleep, a futex's timeout): firing it wakes that thread and does
    /// nothing else.
    pub sleeper: bool,
    /// It asks to be fired in softirq context (the kernel's `HRTIMER_MODE_SOFT`).
    pub soft: bool,
    /// It asks to be fired in the interrupt, whatever the policy and the rest (the kernel's `HRTIMER_MODE_HARD`, as
    /// the tick has it).
    pub hard: bool,
}

impl Arm {
    /// A precise timer of the kernel's own, with nobody asleep on it.
    pub const fn kernel(expiry: Expiry) -> Self {
        let class = Class { kind: Kind::Precise, priority: Priority::Inherit };
        Self { expiry, class, task_priority: 0, sleeper: false, soft: false, hard: false }
    }

    /// A sleep of a thread of priority `task_priority`, 0–99.
    pub const fn sleep(expiry: Expiry, task_priority: u8) -> Self {
        Self { task_priority, sleeper: true, ..Self::kernel(expiry) }
    }

    /// The same as a coarse timer: a timeout that is seldom to fire.
    #[must_use]
    pub const fn coarse(mut self) -> Self {
        self.class.kind = Kind::Coarse;
        self
    }

    /// The same at a level, whoever arms it.
    #[must_use]
    pub const fn at_level(mut self, level: Level) -> Self {
        self.class.priority = Priority::Level(level);
        self
    }

    /// The same, to be fired in softirq context.
    #[must_use]
    pub const fn in_softirq(mut self) -> Self {
        self.soft = true;
        self
    }

    /// The same, to be fired in the interrupt.
    #[must_use]
    pub const fn in_interrupt(mut self) -> Self {
        self.hard = true;
        self
    }

    /// Whether it is to be fired in softirq context.
    pub(crate) const fn is_soft(&self) -> bool {
        self.soft && !self.hard
    }

    /// Whether a real-time task armed it.
    pub const fn is_realtime(&self) -> bool {
        self.task_priority > 0
    }
}
