//! Newtypes for numbers that must not be swapped.

use std::fmt;

/// A logical CPU, as the kernel numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuId(pub u16);

impl CpuId {
    /// It is not known which: no machine has so many. Where a woken task is queued is not known before
    /// it runs, in traces that tell neither of migrations nor of the queue that was chosen.
    pub const UNKNOWN: Self = Self(u16::MAX);

    /// Whether it is known.
    pub const fn is_known(self) -> bool {
        self.0 != Self::UNKNOWN.0
    }
}

/// A thread, by the kernel's thread id (`pid` in traces). 0 is the idle task of whichever CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

impl TaskId {
    /// The idle task.
    pub const IDLE: Self = Self(0);
}

/// An entry in [`Tables`](crate::Tables)' timers. 0 means "not known" (the source's table was full).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(pub u32);

impl TimerId {
    /// A timer whose definition is not known.
    pub const UNKNOWN: Self = Self(0);
}

/// An entry in [`Tables`](crate::Tables)' names. 0 is the empty name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub u32);

impl NameId {
    /// The empty name.
    pub const NONE: Self = Self(0);
}

/// A priority as the scheduler counts it: lower runs first. −1 is `SCHED_DEADLINE`, 0–98 real-time
/// (99 minus the user's number), 100–139 fair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prio(pub i16);

impl Prio {
    /// The first priority of the fair class (`MAX_RT_PRIO` in the kernel).
    pub const FAIR_FIRST: Self = Self(100);

    /// The class above all others, of the threads that stop a CPU: no priority that the kernel shows.
    pub const STOP: Self = Self(-2);

    /// No event has told it yet.
    pub const UNKNOWN: Self = Self(i16::MIN);

    /// Whether it is known.
    pub const fn is_known(self) -> bool {
        self.0 != Self::UNKNOWN.0
    }

    /// Whether this is a real-time or deadline priority.
    pub const fn is_realtime(self) -> bool {
        self.is_known() && self.0 < Self::FAIR_FIRST.0
    }

    /// Whether this is a priority of the fair class.
    pub const fn is_fair(self) -> bool {
        self.0 >= Self::FAIR_FIRST.0
    }

    /// Whether a task at this priority may run before one at `other`: a higher priority, the same
    /// one (first come, first served), or any two of the fair class, which take turns.
    pub const fn may_run_before(self, other: Self) -> bool {
        self.0 <= other.0 || (!self.is_realtime() && !other.is_realtime())
    }
}

macro_rules! display_number {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}
display_number!(CpuId, TaskId, TimerId, NameId, Prio);

#[cfg(test)]
mod tests {
    use super::Prio;

    #[test]
    fn who_may_run_first() {
        let fifo = |user: i16| Prio(99 - user);
        assert!(fifo(90).may_run_before(fifo(80)));
        assert!(fifo(80).may_run_before(fifo(80)));
        assert!(!fifo(70).may_run_before(fifo(80)));
        assert!(!Prio(120).may_run_before(fifo(1)));
        assert!(Prio(139).may_run_before(Prio(100)), "fair tasks take turns whatever their nice");
        assert!(Prio(-1).may_run_before(fifo(99)));
    }
}
