//! How a sleep is divided between the kernel and spinning, and what it teaches.

use super::lateness::{Lateness, Recorded};
use super::precision::Precision;

/// Sleeps up to these lengths, ns, learn apart, and longer ones in a last class. What a wakeup costs
/// hangs on how deep the CPU slept, and the idle governor chooses that by the sleep it expects.
/// Bounds stand where the default governors change their mind: guests poll for up to 200 µs
/// (`cpuidle-haltpoll`, `guest_halt_poll_ns`), and the deep states of common machines want 1 ms.
const CLASS_ENDS_NS: [u64; CLASSES - 1] = [200_000, 1_000_000];
const CLASSES: usize = 3;

/// The tail before anything is learnt, ns: enough for a CPU in a shallow idle state or a guest.
pub(crate) const STARTING_TAIL_NS: u64 = 25_000;

/// From this many wakeups of a class, what was learnt is believed even where it is below
/// [`STARTING_TAIL_NS`].
const BELIEVED_FROM: u32 = 32;

/// A tail is looked up anew after this many wakeups of its class: it costs up to 400 additions.
const LOOKED_UP_EVERY: u32 = 16;

/// The kernel is not asked for less than this, ns: the call alone takes about as long.
const NATIVE_MIN_NS: u64 = 1_000;

/// Of sleeps shorter than their tail, which would be spun from end to end, one in this many asks the
/// kernel for the shortest sleep there is first. Or else a thread that sleeps briefly would never
/// learn that its machine has become quiet.
const PROBED_EVERY: u32 = 8;

/// Plans the sleeps of one thread by the lateness of those before.
#[derive(Clone)]
pub(crate) struct Planner {
    precision: Precision,
    classes: [Class; CLASSES],
    wholly_spun: u32,
}

/// One sleep, divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// How long to ask the kernel for, ns; 0: do not ask. Never more than the whole sleep.
    pub(crate) native_ns: u64,
    class: usize,
}

#[derive(Clone)]
struct Class {
    lateness: Lateness,
    tail_ns: u64,
    until_lookup: u32,
}

impl Planner {
    pub(crate) fn new(precision: Precision) -> Self {
        let class = Class {
            lateness: Lateness::new(),
            tail_ns: believed_tail_ns(&Lateness::new(), precision),
            until_lookup: 1,
        };
        Self { precision, classes: std::array::from_fn(|_| class.clone()), wholly_spun: 0 }
    }

    /// Divides a sleep that is to end `remaining_ns` from now.
    pub(crate) fn plan(&mut self, remaining_ns: u64) -> Plan {
        let class = class_of(remaining_ns);
        if self.precision == Precision::Cpu {
            return Plan { native_ns: remaining_ns, class };
        }
        let native_ns = remaining_ns.saturating_sub(self.classes[class].tail_ns);
        if native_ns >= NATIVE_MIN_NS {
            return Plan { native_ns, class };
        }
        self.wholly_spun += 1;
        if self.wholly_spun < PROBED_EVERY || remaining_ns <= NATIVE_MIN_NS {
            return Plan { native_ns: 0, class };
        }
        self.wholly_spun = 0;
        Plan { native_ns: NATIVE_MIN_NS, class }
    }

    /// Learns how late the kernel's part of `plan` ended. Says whether a generation ended with it.
    pub(crate) fn learn(&mut self, plan: Plan, lateness_ns: u64) -> Recorded {
        let class = &mut self.classes[plan.class];
        let recorded = class.lateness.record(lateness_ns);
        class.until_lookup -= 1;
        if class.until_lookup == 0 || class.lateness.held() < BELIEVED_FROM {
            class.tail_ns = believed_tail_ns(&class.lateness, self.precision);
            class.until_lookup = LOOKED_UP_EVERY;
        }
        recorded
    }

    /// How much of a sleep of this length would be spun at most, ns.
    pub(crate) fn tail_ns(&self, sleep_ns: u64) -> u64 {
        self.classes[class_of(sleep_ns)].tail_ns
    }
}

fn class_of(sleep_ns: u64) -> usize {
    CLASS_ENDS_NS.iter().position(|end_ns| sleep_ns <= *end_ns).unwrap_or(CLASSES - 1)
}

fn believed_tail_ns(lateness: &Lateness, precision: Precision) -> u64 {
    let learnt_ns = lateness.tail_ns(precision);
    match precision {
        Precision::Cpu => 0,
        _ if lateness.held() < BELIEVED_FROM => learnt_ns.max(STARTING_TAIL_NS),
        _ => learnt_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::super::lateness::TAIL_MAX_NS;
    use super::*;
    use proptest::prelude::*;

    fn taught(precision: Precision, sleep_ns: u64, latenesses: &[u64]) -> Planner {
        let mut planner = Planner::new(precision);
        for lateness_ns in latenesses {
            let plan = planner.plan(sleep_ns);
            planner.learn(plan, *lateness_ns);
        }
        planner
    }

    #[test]
    fn before_anything_is_learnt_the_tail_is_the_starting_one() {
        let mut planner = Planner::new(Precision::Exact);
        assert_eq!(planner.plan(50_000).native_ns, 50_000 - STARTING_TAIL_NS);
        assert_eq!(planner.plan(STARTING_TAIL_NS).native_ns, 0);
        assert_eq!(planner.plan(u64::MAX).native_ns, u64::MAX - STARTING_TAIL_NS);
        assert_eq!(planner.plan(0).native_ns, 0);
    }

    #[test]
    fn little_is_not_believed_unless_it_is_worse() {
        let few = BELIEVED_FROM as usize - 1;
        assert_eq!(taught(Precision::Exact, 50_000, &vec![1; few]).tail_ns(1), STARTING_TAIL_NS);
        assert_eq!(taught(Precision::Exact, 50_000, &vec![40_000; few]).tail_ns(1), 40_250);
        assert!(taught(Precision::Exact, 50_000, &[1; 64]).tail_ns(1) <= 250);
    }

    #[test]
    fn short_and_long_sleeps_learn_apart() {
        let planner = taught(Precision::Exact, 5_000_000, &[90_000; 64]);
        assert_eq!(planner.tail_ns(5_000_000), 90_250);
        assert_eq!(planner.tail_ns(50_000), STARTING_TAIL_NS);
    }

    #[test]
    fn no_spinning_means_the_whole_sleep_is_the_kernels() {
        let mut planner = taught(Precision::Cpu, 50_000, &[90_000; 64]);
        for remaining_ns in [1, 999, 50_000, u64::MAX] {
            assert_eq!(planner.plan(remaining_ns).native_ns, remaining_ns);
        }
    }

    #[test]
    fn a_thread_that_only_sleeps_briefly_learns_that_it_became_quiet() {
        let mut planner = taught(Precision::Exact, 200_000, &[90_000; 64]);
        let brief_ns = 20_000;
        let mut probes = 0;
        for _ in 0..10_000 {
            let plan = planner.plan(brief_ns);
            if plan.native_ns > 0 {
                planner.learn(plan, 2_000);
                probes += 1;
            }
        }
        assert!(probes > 0);
        assert_eq!(planner.plan(brief_ns).native_ns, brief_ns - 2_250);
    }

    proptest! {
        /// A plan never asks the kernel for more than the sleep, and never leaves more than the cap to
        /// be spun of a sleep that is longer than cap and shortest sleep together.
        #[test]
        fn bounds(
            precision in prop::sample::select(vec![Precision::Cpu, Precision::Balanced, Precision::Exact]),
            sleeps in prop::collection::vec((0..3_000_000_u64, 0..200_000_u64), 1..300),
        ) {
            let mut planner = Planner::new(precision);
            for (remaining_ns, lateness_ns) in sleeps {
                let plan = planner.plan(remaining_ns);
                prop_assert!(plan.native_ns <= remaining_ns);
                if remaining_ns > TAIL_MAX_NS + NATIVE_MIN_NS {
                    prop_assert!(remaining_ns - plan.native_ns <= TAIL_MAX_NS);
                }
                if plan.native_ns > 0 {
                    planner.learn(plan, lateness_ns);
                }
            }
        }
    }
}
