//! What a hypervisor takes is told after the fact and only how much, so that where it was is inferred: held against what
//! is true.

use crate::compare::simulate;
use crate::maker::made;
use crate::{SPAN_NS, SYSTEMS};
use std::collections::HashMap;
use tardy_model::{TaskId, WakeupKind};
use tardy_sim::{Cost, Theft};

const CAUSE: &str = "hypervisor";

/// What was stolen of wakeups, and what was told of that.
#[derive(Debug, Default)]
struct Stolen {
    wakeups: u64,
    /// Of which something was stolen.
    robbed: u64,
    /// Those of them of which as much is told, to a tenth.
    right: u64,
    true_ns: u64,
    told_ns: u64,
    /// What is both stolen and told to be, of each wakeup.
    both_ns: u64,
    /// The explainer's own count, of all CPUs and times.
    counted_ns: u64,
    /// Of that, what no silence had room for.
    unplaced_ns: u64,
}

fn stolen(seed: u64, all: &mut Stolen) {
    let mut system = made(seed);
    system.machine.theft = Some(Theft {
        every: Cost::Exponential { mean_ns: 4e6 },
        length: Cost::Uniform { from_ns: 20_000, to_ns: 600_000 },
    });
    let (explanation, told, truths) = simulate(&system, SPAN_NS, |_| {});
    let time = explanation.stolen.expect("the recording tells of thefts");
    all.counted_ns += time.ns;
    all.unplaced_ns += time.unplaced_ns;
    let of = |segments: &[tardy_model::Segment]| -> u64 {
        segments.iter().filter(|segment| segment.cause.0 == CAUSE).map(|segment| segment.ns).sum()
    };
    let told = told.iter().filter(|wakeup| wakeup.kind != WakeupKind::Lock);
    let by_end: HashMap<(TaskId, u64), u64> =
        told.map(|it| ((it.task, it.expiry_ns + it.lateness_ns), of(&it.segments))).collect();
    for truth in truths.iter().filter(|truth| !truth.is_cut) {
        let key = (truth.task, truth.expiry_ns + truth.lateness_ns);
        let Some(told_ns) = by_end.get(&key).copied() else { continue };
        let mine = truth.segments.iter().filter(|segment| segment.cause == CAUSE);
        let true_ns: u64 = mine.map(|segment| segment.ns).sum();
        all.wakeups += 1;
        all.true_ns += true_ns;
        all.told_ns += told_ns;
        all.both_ns += true_ns.min(told_ns);
        if true_ns > 0 {
            all.robbed += 1;
            all.right += u64::from(told_ns.abs_diff(true_ns) * 10 <= true_ns);
        }
    }
}

#[test]
fn what_is_stolen_is_found_in_the_wakeups_that_it_made_late() {
    let mut all = Stolen::default();
    (0..SYSTEMS).for_each(|seed| stolen(seed, &mut all));
    println!("{all:?}");
    assert!(all.robbed > 500, "there is something to find: {all:?}");
    assert_eq!(all.unplaced_ns, 0, "a CPU that is stopped tells nothing: {all:?}");
    let share = |of_ns: u64, all_ns: u64| of_ns as f64 / all_ns as f64;
    assert!(share(all.both_ns, all.true_ns) > 0.85, "little of it is missed: {all:?}");
    assert!(
        share(all.both_ns, all.told_ns) > 0.95,
        "next to nothing is laid at its feet wrongly: {all:?}"
    );
    assert!(share(all.right, all.robbed) > 0.7, "{all:?}");
}
