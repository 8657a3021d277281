//! How a CPU sleeps, and what it takes to be awake again.
//!
//! Left out: what a governor knows of the past (it is right about when the next timer comes, and knows nothing of other
//! interrupts), and states that CPUs of a core or package enter together.

use crate::Cost;
use crate::replay::AS_USUAL;

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

/// All takes longer on a CPU after it has slept: its caches got cold, and somebody else had its core.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coldness {
    /// By how much, after which sleeps. The shorter ones come first.
    pub steps: Vec<ColdStep>,
    /// For how long after the CPU has woken up.
    pub for_ns: u64,
}

/// By how much all takes longer after sleeps of a length, in thousandths, 1 to [`PERMILLE_MAX`](crate::PERMILLE_MAX).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColdStep {
    /// From how long a sleep on.
    pub from_ns: u64,
    /// What the machine's own work takes, of what it costs.
    pub work: u16,
    /// What threads' own runs take.
    pub runs: u16,
}

impl ColdStep {
    /// After short sleeps.
    pub(crate) const USUAL: Self = Self { from_ns: 0, work: AS_USUAL, runs: AS_USUAL };
}

impl Coldness {
    /// By how much all takes longer after such a sleep.
    pub fn after(&self, slept_ns: u64) -> ColdStep {
        let step = self.steps.iter().rev().find(|step| step.from_ns <= slept_ns);
        step.copied().unwrap_or(ColdStep::USUAL)
    }
}

/// What a run takes of a thread that begins it on a cold CPU, where it is cold for so long: what comes later is as usual.
pub(crate) fn cold_run_ns(ns: u64, permille: u16, for_ns: u64) -> u64 {
    let slow_ns = ns.min(for_ns);
    // A run has an upper bound (`COST_NS_MAX`), and so have both factors, so that this cannot overflow.
    ns - slow_ns + slow_ns * u64::from(permille) / u64::from(AS_USUAL)
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
        let step = |from_ns, work, runs| ColdStep { from_ns, work, runs };
        let cold =
            Coldness { steps: vec![step(100, 900, 950), step(1_000, 1_500, 1_200)], for_ns: 1 };
        let permille =
            [0, 99, 100, 999, 1_000].map(|ns| cold.after(ns)).map(|it| (it.work, it.runs));
        let (usual, short, long) = ((1_000, 1_000), (900, 950), (1_500, 1_200));
        assert_eq!(permille, [usual, usual, short, short, long]);
    }

    #[test]
    fn a_run_is_slow_for_as_long_as_its_cpu_is_cold() {
        let runs = [0, 1_000, 100_000, 1_000_000].map(|ns| cold_run_ns(ns, 1_500, 100_000));
        assert_eq!(runs, [0, 1_500, 150_000, 1_050_000]);
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
