//! What the explainer finds out from events, against what is true by the simulator's state.
#![allow(missing_docs)]

mod compare;
mod maker;
mod theft;
mod unseen;

use compare::{Outcome, compare};
use maker::made;
use std::collections::BTreeMap;
use tardy_sim::file::Template;

/// How long each system runs, ns.
const SPAN_NS: u64 = 300_000_000;

/// Systems in a normal test run.
const SYSTEMS: u64 = 20;

/// What of the wakeups must be explained as it is true, but for differences that are known. Of a thread that is late to
/// ask, the first wakeups reach further back than what is remembered.
const SHARE_MIN: f64 = 0.9999;

/// And without those.
const SHARE_EQUAL_MIN: f64 = 0.9999;

/// A slow machine, and a storm of sleepers without slack.
const HANGS: &str = r#"
policies = ["hardirq"]

[machine]
like = "zynq-7020"

[kernel]
preemption = "rt"
softirqs = "ktimers"

[[thread]]
name = "cyclic"
cpus = [0]
policy = "fifo:98"
program = [{ sleep-grid = { period = "237us" } }, { run = "1us" }]

[[thread]]
name = "storm"
count = 100
slack = "1ns"
program = [{ sleep = "0us..1ms" }, { run = "500ns" }]
"#;

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

/// So many timers that the kernel gives interrupts up: what it then puts off is told from what events show of the
/// interrupt before, not from the device's setting, which no event shows.
#[test]
fn what_the_kernel_puts_off_is_told_from_what_others_keep_off() {
    let template = Template::parse(HANGS).expect("it can be");
    let file = template.file(&template.conditions[0], &BTreeMap::default()).expect("it can be");
    let outcome = compare(&file.system_of("hardirq", 0), 3 * SPAN_NS);
    let Outcome { wakeups, equal, hang_ns, .. } = outcome;
    println!("{equal} of {wakeups}, {hang_ns} ns put off; {}", outcome.shown);
    for ((truth, told), (count, ns)) in &outcome.confused_ns {
        println!("  {count:>7} × {truth} told as {told}, {ns} ns");
    }
    let confused = |what: &str| -> u64 {
        let of = |names: &(String, String)| names.0.starts_with(what) || names.1.starts_with(what);
        outcome.confused_ns.iter().filter(|(names, _)| of(names)).map(|(_, (_, ns))| ns).sum()
    };
    assert!(hang_ns > 1_000_000, "{hang_ns} ns were put off");
    assert!((confused("hrtimer_hang") as f64) < 0.001 * hang_ns as f64, "of {hang_ns} ns");
}

/// `TARDY_SIM_SYSTEMS=1000 cargo test --release -p tardy-sim --test explained -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn many_random_systems_are_explained_as_they_are() {
    let asked = std::env::var("TARDY_SIM_SYSTEMS").ok().and_then(|text| text.parse().ok());
    compare_all(0..asked.unwrap_or(1000));
}
