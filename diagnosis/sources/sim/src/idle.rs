//! How a CPU sleeps, and what it takes to be awake again.
//!
//! Left out: what a governor knows of the past (it is right about when the next timer comes, and knows nothing of other
//! interrupts), and states that CPUs of a core or package enter together.

use crate::Cost;

/// A state in which a CPU sleeps.
#[derive(Clone, Debug, PartialEq)]
pub struct IdleState {
    /// Its name.
    pub name: String,
    /// What it takes to be awake again.
    pub exit: Cost,
    /// What it takes instead after longer sleeps, the shortest first: hardware goes deeper by itself, caches get cold, and
    /// so does the host of a guest.
    pub after: Vec<LongSleep>,
    /// The same, as the driver's table has it.
    pub latency_ns: u64,
    /// It is chosen where the next timer is at least so far.
    pub residency_ns: u64,
    /// It is no sleep: the CPU looks for work in a loop.
    pub polls: bool,
}

/// What waking up takes of a CPU that has slept for so long or longer.
#[derive(Clone, Debug, PartialEq)]
pub struct LongSleep {
    /// How long it has slept.
    pub from_ns: u64,
    /// To be awake again.
    pub exit: Cost,
}

impl IdleState {
    /// What it takes to be awake again after such a sleep.
    pub fn exit_after(&self, slept_ns: u64) -> &Cost {
        let longer = self.after.iter().rev().find(|longer| longer.from_ns <= slept_ns);
        longer.map_or(&self.exit, |longer| &longer.exit)
    }

    /// What it takes, after short sleeps and longer ones.
    pub fn exits(&self) -> impl Iterator<Item = &Cost> {
        std::iter::once(&self.exit).chain(self.after.iter().map(|longer| &longer.exit))
    }

    pub(crate) fn exits_mut(&mut self) -> impl Iterator<Item = &mut Cost> {
        std::iter::once(&mut self.exit).chain(self.after.iter_mut().map(|longer| &mut longer.exit))
    }
}

/// A CPU's own work takes longer after it has slept: its caches got cold, and somebody else had its core.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coldness {
    /// From how long a sleep on its work takes how many thousandths of what it costs, 1 to
    /// [`PERMILLE_MAX`](crate::PERMILLE_MAX). The shorter sleeps come first.
    pub steps: Vec<(u64, u16)>,
    /// For how long after the CPU has woken up.
    pub for_ns: u64,
}

impl Coldness {
    /// How many thousandths of what it costs work takes after such a sleep.
    pub fn permille_after(&self, slept_ns: u64) -> u16 {
        let step = self.steps.iter().rev().find(|(from_ns, _)| *from_ns <= slept_ns);
        step.map_or(1_000, |(_, permille)| *permille)
    }
}

/// A hypervisor that looks in a loop for a while whether a CPU of its guest has to wake up, before it lets the CPU go: KVM's
/// halt polling (`Documentation/virt/kvm/halt-polling.rst`). For how long it looks depends on the sleeps before.
#[derive(Clone, Debug, PartialEq)]
pub struct HaltPolling {
    /// For how long at most, and how that changes.
    pub limits: PollLimits,
    /// What it takes to be awake again while it looks.
    pub exit: Cost,
}

/// For how long a hypervisor looks. These are parameters of the module `kvm`; `halt_poll_ns_grow` is 2, as by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollLimits {
    /// The longest (`halt_poll_ns`).
    pub max_ns: u64,
    /// The first after none (`halt_poll_ns_grow_start`).
    pub start_ns: u64,
    /// By what it is divided after a sleep that was longer than the longest (`halt_poll_ns_shrink`); 0: it is none then.
    pub shrink: u32,
}

impl Default for PollLimits {
    /// As KVM has it on x86 since Linux 6.11; before, `shrink` was 0.
    fn default() -> Self {
        Self { max_ns: 200_000, start_ns: 10_000, shrink: 2 }
    }
}

/// For how long a hypervisor looks in the next sleep of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PollWindow {
    ns: u64,
}

impl PollWindow {
    /// Whether it still looks when a CPU that has slept for so long is to wake up.
    pub const fn is_open(self, slept_ns: u64) -> bool {
        slept_ns < self.ns
    }

    /// The CPU is awake again, so long after it went to sleep.
    pub fn adapts(&mut self, limits: PollLimits, halted_ns: u64) {
        let PollLimits { max_ns, start_ns, shrink } = limits;
        if halted_ns <= self.ns {
            return;
        }
        if halted_ns > max_ns {
            let less_ns = self.ns.checked_div(u64::from(shrink)).unwrap_or(0);
            self.ns = if less_ns < start_ns { 0 } else { less_ns };
        } else if halted_ns < max_ns {
            self.ns = (2 * self.ns).max(start_ns).min(max_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: PollLimits = PollLimits { max_ns: 200_000, start_ns: 10_000, shrink: 2 };

    /// For how long it looks after each of these sleeps.
    fn after(limits: PollLimits, sleeps: &[u64]) -> Vec<u64> {
        let mut window = PollWindow::default();
        let adapt = |ns: &u64| {
            window.adapts(limits, *ns);
            window.ns
        };
        sleeps.iter().map(adapt).collect()
    }

    #[test]
    fn it_looks_longer_after_short_sleeps_that_it_missed() {
        let short = [50_000; 5];
        assert_eq!(after(LIMITS, &short), [10_000, 20_000, 40_000, 80_000, 80_000]);
        let longer = [150_000; 7];
        assert_eq!(after(LIMITS, &longer)[4..], [160_000, 160_000, 160_000]);
        assert_eq!(after(LIMITS, &[190_000; 7])[4..], [160_000, 200_000, 200_000]);
    }

    #[test]
    fn and_shorter_after_long_ones() {
        let sleeps = [50_000, 50_000, 50_000, 1_000_000, 1_000_000, 1_000_000, 50_000];
        assert_eq!(after(LIMITS, &sleeps)[2..], [40_000, 20_000, 10_000, 0, 10_000]);
        let at_once = PollLimits { shrink: 0, ..LIMITS };
        assert_eq!(after(at_once, &sleeps)[2..], [40_000, 0, 0, 0, 10_000]);
    }

    #[test]
    fn work_takes_as_long_as_after_the_longest_sleep_that_was_reached() {
        let cold = Coldness { steps: vec![(100, 900), (1_000, 1_500)], for_ns: 1 };
        let permille = [0, 99, 100, 999, 1_000].map(|ns| cold.permille_after(ns));
        assert_eq!(permille, [1_000, 1_000, 900, 900, 1_500]);
    }

    #[test]
    fn what_waking_up_takes_is_that_of_the_longest_sleep_that_was_reached() {
        let long = |from_ns, ns| LongSleep { from_ns, exit: Cost::Constant(ns) };
        let state = IdleState {
            name: "C1".to_owned(),
            exit: Cost::Constant(1),
            after: vec![long(100, 2), long(1_000, 3)],
            latency_ns: 0,
            residency_ns: 0,
            polls: false,
        };
        let exits = [0, 99, 100, 999, 1_000, u64::MAX].map(|ns| state.exit_after(ns).clone());
        assert_eq!(exits, [1, 1, 2, 2, 3, 3].map(Cost::Constant));
    }
}
