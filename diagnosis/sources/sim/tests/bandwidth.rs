//! Bandwidths of real-time threads and of control groups: who gets how much of a CPU, and what is true of the
//! wait for more.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use tardy_explain::{Explainer, Named, Options, Sink, Watch};
use tardy_model::{Batch, Kind, Source};
use tardy_sim::truth::{Account, Truth};
use tardy_sim::{
    Bandwidth, Cost, Group, Kernel, Machine, Operation, Policy, Preemption, Simulated, System,
    Thread, Throttles, Workload,
};

const MS: u64 = 1_000_000;
const SPAN_NS: u64 = 1_000 * MS;

fn system(threads: Vec<Thread>, groups: Vec<Group>) -> System {
    System {
        machine: Machine {
            switch: Cost::Constant(900),
            irq_entry: Cost::Constant(700),
            tick: Cost::Constant(1_000),
            ..Machine::default()
        },
        workload: Workload { threads, groups, ..Workload::default() },
        ..System::default()
    }
}

fn hog(policy: Policy, group: Option<u32>) -> Thread {
    let program = vec![Operation::Run(Cost::Constant(100 * MS))];
    Thread { policy, group, program, watched: true, ..Thread::default() }
}

/// A group of the ordinary weight that may use so much of each 50 ms.
fn group(name: &str, within: Option<u32>, quota_ms: Option<u64>) -> Group {
    let limit = |ms| Bandwidth { runtime_ns: ms * MS, period_ns: 50 * MS };
    Group { name: name.to_owned(), within, weight: Some(1024), bandwidth: quota_ms.map(limit) }
}

#[derive(Default)]
struct Throttled(BTreeMap<u64, u64>);

impl Sink for Throttled {
    fn wakeup(&mut self, named: &Named<'_>) {
        let wakeup = named.wakeup();
        let throttled = wakeup.segments.iter().filter(|segment| segment.cause.0 == "throttled");
        let ns = throttled.map(|segment| segment.ns).sum();
        self.0.insert(wakeup.expiry_ns + wakeup.lateness_ns, ns);
    }
}

/// How long each thread ran, what is true, and by the end of each wakeup how much of it the explainer calls
/// throttled.
fn run(system: &System) -> (BTreeMap<u32, u64>, Vec<Truth>, BTreeMap<u64, u64>) {
    let mut source = Simulated::new(system, SPAN_NS, Account::new(system)).expect("it can be");
    let watch = Watch { all: true, ..Watch::default() };
    let mut explainer = Explainer::new(Options { watch, worst: 0 }, Throttled::default());
    let (mut ran, mut since_ns) = (BTreeMap::new(), BTreeMap::new());
    let mut batch = Batch::default();
    while source.next_batch(&mut batch).expect("it goes on") {
        for event in &batch.events {
            if let Kind::Switch(switch) = event.kind() {
                let began_ns = since_ns.insert(event.cpu, event.time_ns).unwrap_or(event.time_ns);
                *ran.entry(event.task.0).or_insert(0) += event.time_ns - began_ns;
                let _ = switch;
            }
        }
        explainer.batch(&batch);
        batch.clear();
    }
    let (_, Throttled(told)) = explainer.finish();
    (ran, source.observer_mut().take(), told)
}

fn throttled_ns(truth: &Truth) -> u64 {
    truth.segments.iter().filter(|segment| segment.cause == "throttled").map(|it| it.ns).sum()
}

#[test]
fn real_time_threads_leave_what_their_bandwidth_does_not_hold() {
    let fair = Policy::Other { nice: 0 };
    let mut system = system(vec![hog(Policy::Fifo(50), None), hog(fair, None)], Vec::new());
    let (ran, ..) = run(&system);
    assert_eq!(ran.get(&1001), None, "without a bandwidth the other one never runs");
    let bandwidth = Bandwidth { runtime_ns: 90 * MS, period_ns: 100 * MS };
    system.kernel = Kernel { rt_bandwidth: Some(bandwidth), ..Kernel::default() };
    let (ran, truths, told) = run(&system);
    // It is looked at in the tick, every millisecond.
    assert!((60 * MS..=100 * MS).contains(&ran[&1001]), "{ran:?}");
    let waits: Vec<&Truth> = truths.iter().filter(|truth| throttled_ns(truth) > 0).collect();
    assert!(waits.len() >= 8, "{truths:?}");
    for wait in waits {
        let (ns, end_ns) = (throttled_ns(wait), wait.expiry_ns + wait.lateness_ns);
        assert!((6 * MS..11 * MS).contains(&ns), "{wait:?}");
        // From events it is known by what the CPU chose, which it did until the thread ran again.
        assert!(told[&end_ns].abs_diff(ns) < 10_000, "{} told, {wait:?}", told[&end_ns]);
    }
}

#[test]
fn a_group_gets_its_quota_and_waits_for_more() {
    let fair = Policy::Other { nice: 0 };
    let group = group("/small", None, Some(10));
    let threads = vec![hog(fair, Some(0)), hog(fair, Some(0)), hog(fair, None)];
    let (ran, truths, told) = run(&system(threads, vec![group]));
    let together = ran[&1000] + ran[&1001];
    assert!((180 * MS..260 * MS).contains(&together), "a fifth of a second: {ran:?}");
    assert!(ran[&1002] > 700 * MS, "{ran:?}");
    let waits: Vec<&Truth> = truths.iter().filter(|truth| throttled_ns(truth) > 0).collect();
    assert!(waits.len() >= 15, "{}", waits.len());
    let alike = waits.iter().filter(|wait| {
        let end_ns = wait.expiry_ns + wait.lateness_ns;
        told[&end_ns].abs_diff(throttled_ns(wait)) < 10_000
    });
    // Of the group's two threads the kernel tells of the one that it takes off; the other one is seen to wait.
    assert!(alike.count() * 2 >= waits.len());
}

#[test]
fn who_was_held_with_less_than_its_share_runs_first_when_there_is_bandwidth_again() {
    let fair = Policy::Other { nice: 0 };
    let program =
        vec![Operation::Sleep(Cost::Constant(2_050_000)), Operation::Run(Cost::Constant(10_000))];
    let sleeper = Thread { program, ..hog(fair, Some(0)) };
    let greedy = Thread { watched: false, ..hog(fair, Some(0)) };
    let mut system = system(vec![sleeper, greedy], vec![group("/small", None, Some(10))]);
    system.kernel.throttles = Throttles::Tasks;
    system.kernel.preemption = Preemption::Full;
    system.kernel.settings.jiffy_ns = NonZeroU64::new(4 * MS).expect("above 0");
    let (_, truths, _) = run(&system);
    let of = |cause: &str| -> u64 {
        let segments =
            truths.iter().filter(|truth| truth.task.0 == 1000).flat_map(|it| &it.segments);
        segments.filter(|segment| segment.cause == cause).map(|segment| segment.ns).sum()
    };
    // Twenty times; it does not wait for a tick to get its turn before the greedy one.
    assert!(of("throttled") > 300 * MS, "{} ns", of("throttled"));
    assert!(of("cpu_contention") < 10 * MS, "{} ns", of("cpu_contention"));
}

#[test]
fn who_only_works_in_the_kernel_is_held_at_its_return_too() {
    let program =
        vec![Operation::Kernel(Cost::Constant(2 * MS)), Operation::Sleep(Cost::Constant(MS))];
    let busy = Thread { program, ..hog(Policy::Other { nice: 0 }, Some(0)) };
    let mut system = system(vec![busy], vec![group("/small", None, Some(5))]);
    system.kernel.throttles = Throttles::Tasks;
    let (ran, ..) = run(&system);
    // A tenth of the time, and what of its last call is beyond that.
    assert!((90 * MS..160 * MS).contains(&ran[&1_000]), "{ran:?}");
}
