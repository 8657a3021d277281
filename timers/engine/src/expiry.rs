//! When a timer may and must fire.

/// When a timer may fire, and when it must.
///
/// Between the two it may be fired together with others, which saves interrupts. As in the kernel's
/// hrtimers, queues are ordered by the hard expiry and look at the soft one only of whoever is first
/// (`kernel/time/hrtimer.c`, `__hrtimer_run_queues`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expiry {
    soft_ns: u64,
    hard_ns: u64,
}

impl Expiry {
    /// A timer that may fire at `time_ns` and should fire then.
    pub const fn at(time_ns: u64) -> Self {
        Self { soft_ns: time_ns, hard_ns: time_ns }
    }

    /// A timer that may fire at `soft_ns` and should have fired `slack_ns` later. A sum beyond the
    /// end of time is the end of time.
    pub const fn with_slack(soft_ns: u64, slack_ns: u64) -> Self {
        Self { soft_ns, hard_ns: soft_ns.saturating_add(slack_ns) }
    }

    /// From both times; the soft one is not the later.
    pub(crate) const fn between(soft_ns: u64, hard_ns: u64) -> Self {
        debug_assert!(soft_ns <= hard_ns);
        Self { soft_ns, hard_ns }
    }

    /// The earliest time it may fire, ns.
    pub const fn soft_ns(self) -> u64 {
        self.soft_ns
    }

    /// The time it should have fired by, ns; never before [`soft_ns`](Self::soft_ns).
    pub const fn hard_ns(self) -> u64 {
        self.hard_ns
    }

    /// How much later than its soft expiry it may fire, ns.
    pub const fn slack_ns(self) -> u64 {
        self.hard_ns - self.soft_ns
    }
}
