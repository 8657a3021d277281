//! Groups that share the CPUs by their weights: who gets how much of them, and that a group is woken as a thread is.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use tardy_model::{Batch, Kind, Source};
use tardy_sim::truth::Account;
use tardy_sim::{
    Cost, Group, Machine, Operation, Policy, Preemption, Simulated, System, Thread, Workload,
};

const MS: u64 = 1_000_000;
const SPAN_NS: u64 = 4_000 * MS;

fn group(name: &str, within: Option<u32>, weight: Option<u32>) -> Group {
    Group { name: name.to_owned(), within, weight, bandwidth: None }
}

fn hog(group: Option<u32>, cpu: u16) -> Thread {
    let program = vec![Operation::Run(Cost::Constant(100 * MS))];
    let cpus = 1 << cpu;
    Thread { policy: Policy::Other { nice: 0 }, group, program, cpus, ..Thread::default() }
}

fn system(cpus: u16, threads: Vec<Thread>, groups: Vec<Group>) -> System {
    System {
        machine: Machine { cpus, tick: Cost::Constant(1_000), ..Machine::default() },
        workload: Workload { threads, groups, ..Workload::default() },
        ..System::default()
    }
}

/// The percentage of the time in which each thread ran.
fn shares(system: &System) -> Vec<u64> {
    let mut source = Simulated::new(system, SPAN_NS, Account::new(system)).expect("it can be");
    let (mut ran, mut since_ns) = (BTreeMap::new(), BTreeMap::new());
    let mut batch = Batch::default();
    while source.next_batch(&mut batch).expect("it goes on") {
        for event in &batch.events {
            if let Kind::Switch(_) = event.kind() {
                let began_ns = since_ns.insert(event.cpu, event.time_ns).unwrap_or(event.time_ns);
                *ran.entry(event.task.0).or_insert(0) += event.time_ns - began_ns;
            }
        }
        batch.clear();
    }
    let threads = 1_000..1_000 + system.workload.threads.len() as u32;
    let percent = |ns: u64| (ns * 100 + SPAN_NS / 2) / SPAN_NS;
    threads.map(|task| percent(ran.get(&task).copied().unwrap_or(0))).collect()
}

#[track_caller]
fn assert_shares(system: &System, expected: &[u64]) {
    let shares = shares(system);
    let near = shares.iter().zip(expected).all(|(share, expected)| share.abs_diff(*expected) <= 2);
    assert!(shares.len() == expected.len() && near, "{shares:?}, expected {expected:?}");
}

#[test]
fn a_group_has_as_much_as_one_thread_however_many_are_in_it() {
    let groups = vec![group("/a", None, Some(1024))];
    let threads = vec![hog(Some(0), 0), hog(Some(0), 0), hog(Some(0), 0), hog(None, 0)];
    assert_shares(&system(1, threads.clone(), groups), &[17, 17, 17, 50]);
    // One that weighs nothing is as if it were not there.
    let groups = vec![group("/a", None, None)];
    assert_shares(&system(1, threads, groups), &[25, 25, 25, 25]);
}

#[test]
fn groups_share_by_their_weights_at_each_level() {
    let groups = vec![
        group("/a", None, Some(3072)),
        group("/a/x", Some(0), Some(1024)),
        group("/a/y", Some(0), Some(2048)),
    ];
    let threads = vec![hog(Some(1), 0), hog(Some(2), 0), hog(None, 0)];
    assert_shares(&system(1, threads, groups), &[25, 50, 25]);
}

#[test]
fn a_group_weighs_less_on_each_cpu_the_more_of_them_it_uses() {
    let groups = vec![group("/a", None, Some(1024)), group("/b", None, Some(1024))];
    // A third of its load is on the first CPU, and so is a third of its weight.
    let threads = vec![hog(Some(0), 0), hog(Some(0), 1), hog(Some(0), 1), hog(Some(1), 0)];
    assert_shares(&system(2, threads, groups), &[25, 50, 50, 75]);
}

#[test]
fn one_that_sleeps_has_its_group_at_once_where_that_has_had_less() {
    // It wants a fifth of the CPU, in a session of its own beside another one's four.
    let groups = vec![group("/a", None, Some(1024)), group("/b", None, Some(1024))];
    let sleeper = |group| Thread {
        program: vec![
            Operation::Run(Cost::Constant(2 * MS)),
            Operation::Sleep(Cost::Constant(8 * MS)),
        ],
        ..hog(group, 0)
    };
    let beside = |sleeps_in| {
        let mut threads = vec![sleeper(Some(sleeps_in))];
        threads.extend((0..4).map(|_| hog(Some(1), 0)));
        system(1, threads, groups.clone())
    };
    let (own, shared) = (shares(&beside(0))[0], shares(&beside(1))[0]);
    assert!((17..=20).contains(&own), "{own} % in a session of its own");
    assert!(shared + 3 <= own, "{shared} % in the others', {own} % in its own");
}

/// How late a thread is on average that works 300 µs of each 2 ms beside one that always runs, by where in a tick it is
/// woken, ns.
fn late_beside_a_hog(phase_us: u64, groups: [Option<u32>; 2]) -> u64 {
    let all = vec![group("/a", None, Some(1024)), group("/b", None, Some(1024))];
    let sleep =
        Operation::SleepGrid { period_ns: 2 * MS, phase: Cost::ZERO, from_ns: phase_us * 1_000 };
    let program = vec![sleep, Operation::Run(Cost::Constant(300_000))];
    let victim = Thread { program, slack_ns: 1, watched: true, ..hog(groups[0], 0) };
    let mut system = system(2, vec![victim, hog(groups[1], 0)], all);
    let cost = Cost::Constant(1_000);
    (system.machine.switch, system.machine.wakeup) = (cost.clone(), cost.clone());
    (system.machine.callback, system.machine.tick) = (cost, Cost::Constant(2_000));
    system.kernel.preemption = Preemption::Full;
    system.kernel.settings.jiffy_ns = NonZeroU64::new(4 * MS).expect("above 0");
    let mut source = Simulated::new(&system, SPAN_NS, Account::new(&system)).expect("it can be");
    let mut batch = Batch::default();
    while source.next_batch(&mut batch).expect("it goes on") {
        batch.clear();
    }
    let truths = source.observer_mut().take();
    truths.iter().map(|truth| truth.lateness_ns).sum::<u64>() / truths.len() as u64
}

#[test]
fn one_thread_in_each_of_two_equal_groups_is_as_late_as_two_threads() {
    for phase_us in [1, 501, 1001, 1501] {
        let (plain, grouped) = (
            late_beside_a_hog(phase_us, [None, None]),
            late_beside_a_hog(phase_us, [Some(0), Some(1)]),
        );
        assert!(
            grouped.abs_diff(plain) <= plain / 20 + 1_000,
            "{phase_us} µs: {plain} ns without groups, {grouped} ns in them"
        );
    }
}
