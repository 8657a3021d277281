//! What a poller's time went into, as counts.

/// What a poller has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Cycles: looks at the queue after a vacation.
    pub polls: u64,
    /// Of those, how many found nothing.
    pub empty_polls: u64,
    /// Items drained.
    pub items: u64,
    /// The most items drained in a cycle, those that came while it drained included.
    pub backlog_max: u64,
    /// Time on vacation, ns, spinning at its end included.
    pub vacation_ns: u64,
    /// The longest vacation, as it turned out, ns.
    pub vacation_max_ns: u64,
    /// Of the time on vacation, how much was spun, ns.
    pub spun_ns: u64,
    /// Time between vacations, ns: the user's draining.
    pub busy_ns: u64,
    /// The longest such time, ns.
    pub busy_max_ns: u64,
    /// The CPU time that the thread has used meanwhile, ns, whatever for.
    pub cpu_ns: u64,
}

impl Statistics {
    /// Counts a cycle: a vacation, and the draining before it.
    pub(super) fn count(&mut self, drained: u64, busy_ns: u64, vacation_ns: u64, spun_ns: u64) {
        self.polls += 1;
        self.empty_polls += u64::from(drained == 0);
        self.items = self.items.saturating_add(drained);
        self.backlog_max = self.backlog_max.max(drained);
        self.vacation_ns = self.vacation_ns.saturating_add(vacation_ns);
        self.vacation_max_ns = self.vacation_max_ns.max(vacation_ns);
        self.spun_ns = self.spun_ns.saturating_add(spun_ns);
        self.busy_ns = self.busy_ns.saturating_add(busy_ns);
        self.busy_max_ns = self.busy_max_ns.max(busy_ns);
    }

    /// Items drained in a cycle, on average over all cycles; 0 before the first.
    pub fn backlog_mean(&self) -> f64 {
        ratio(self.items, self.polls)
    }

    /// The vacation as it turned out, on average, ns; 0 before the first.
    pub fn vacation_mean_ns(&self) -> u64 {
        self.vacation_ns.checked_div(self.polls).unwrap_or(0)
    }

    /// The share of a CPU that the thread has used, 0 to 1; 0 before the first cycle.
    pub fn cpu_share(&self) -> f64 {
        ratio(self.cpu_ns, self.vacation_ns.saturating_add(self.busy_ns)).min(1.0)
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_add_up() {
        let mut statistics = Statistics::default();
        assert_eq!(statistics.backlog_mean().to_bits(), 0.0_f64.to_bits());
        assert_eq!(statistics.vacation_mean_ns(), 0);
        for (drained, busy_ns, vacation_ns, spun_ns) in
            [(0, 1, 100, 10), (6, 30, 40, 0), (3, 9, 10, 5)]
        {
            statistics.count(drained, busy_ns, vacation_ns, spun_ns);
        }
        statistics.cpu_ns = 95;
        let counted = Statistics {
            polls: 3,
            empty_polls: 1,
            items: 9,
            backlog_max: 6,
            vacation_ns: 150,
            vacation_max_ns: 100,
            spun_ns: 15,
            busy_ns: 40,
            busy_max_ns: 30,
            cpu_ns: 95,
        };
        assert_eq!(statistics, counted);
        assert_eq!(statistics.vacation_mean_ns(), 50);
        assert!((statistics.backlog_mean() - 3.0).abs() < 1e-9);
        assert!((statistics.cpu_share() - 0.5).abs() < 1e-9);
        statistics.count(u64::MAX, u64::MAX, u64::MAX, u64::MAX);
        assert_eq!(statistics.items, u64::MAX);
    }
}
