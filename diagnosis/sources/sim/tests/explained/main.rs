//! What the explainer finds out from events, against what is true by the simulator's state.
#![allow(missing_docs)]

mod compare;
mod maker;

use compare::{Outcome, compare};
use maker::made;

/// How long each system runs, ns.
const SPAN_NS: u64 = 300_000_000;

/// Systems in a normal test run.
const SYSTEMS: u64 = 20;

/// What of the wakeups must be explained as it is true, but for differences that are known.
const SHARE_MIN: f64 = 0.9999;

/// And without those.
const SHARE_EQUAL_MIN: f64 = 0.9999;

fn compare_all(systems: std::ops::Range<u64>) {
    let mut all = Outcome::default();
    let mut shown = 0;
    for seed in systems {
        let system = made(seed);
        let outcome = compare(&system, SPAN_NS);
        let differ = outcome.wakeups - outcome.equal - outcome.known + outcome.invented;
        if differ > 0 && shown < 12 {
            shown += 1;
            let kernel = &system.kernel;
            println!(
                "seed {seed}: {differ} of {} differ; {} CPUs, {:?}, {:?}, {}",
                outcome.wakeups,
                system.machine.cpus,
                kernel.preemption,
                kernel.softirqs,
                kernel.timers,
            );
            println!("{}", outcome.shown);
        }
        all.add(outcome);
    }
    let Outcome { wakeups, equal, known, missing, invented, .. } = all;
    println!(
        "{equal} of {wakeups} wakeups are explained as they are true, {known} but for what is known; {missing} \
         missing, {invented} invented"
    );
    for ((truth, told), (count, ns)) in &all.confused_ns {
        println!("  {count:>7} × {truth} told as {told}, {ns} ns");
    }
    assert!(wakeups > 1000, "there is something to compare");
    let all = (wakeups + invented) as f64;
    assert!((equal + known) as f64 >= SHARE_MIN * all);
    assert!(equal as f64 >= SHARE_EQUAL_MIN * all);
}

#[test]
fn random_systems_are_explained_as_they_are() {
    compare_all(0..SYSTEMS);
}

/// `TARDY_SIM_SYSTEMS=1000 cargo test --release -p tardy-sim --test explained -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn many_random_systems_are_explained_as_they_are() {
    let asked = std::env::var("TARDY_SIM_SYSTEMS").ok().and_then(|text| text.parse().ok());
    compare_all(0..asked.unwrap_or(1000));
}
