//! Busy CPUs take ordinary threads from each other: who gets how much of two CPUs, and how often somebody is moved.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use tardy_model::{Batch, Kind, Source};
use tardy_sim::truth::Account;
use tardy_sim::{
    Cost, Group, Machine, Operation, Policy, Preemption, START_NS, Simulated, System, Thread,
    Workload,
};

const MS: u64 = 1_000_000;
const SPAN_NS: u64 = 20_000 * MS;

fn thread(program: Vec<Operation>) -> Thread {
    Thread { policy: Policy::Other { nice: 0 }, program, ..Thread::default() }
}

fn hog() -> Thread {
    thread(vec![Operation::Run(Cost::Constant(100 * MS))])
}

/// As a kernel ticks that was compiled with `HZ=250`.
fn system(threads: Vec<Thread>, groups: Vec<Group>) -> System {
    let mut system = System {
        machine: Machine { cpus: 2, tick: Cost::Constant(1_000), ..Machine::default() },
        workload: Workload { threads, groups, ..Workload::default() },
        ..System::default()
    };
    system.kernel.preemption = Preemption::Full;
    system.kernel.settings.jiffy_ns = NonZeroU64::new(4 * MS).expect("above 0");
    system
}

/// The percentage of one CPU that each thread had, and how often it was moved.
fn shares(system: &System) -> Vec<(u64, u64)> {
    let mut source = Simulated::new(system, SPAN_NS, Account::new(system)).expect("it can be");
    let (mut ran, mut moves, mut since) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut batch = Batch::default();
    while source.next_batch(&mut batch).expect("it goes on") {
        for event in &batch.events {
            match event.kind() {
                Kind::Switch(switch) => {
                    let last = since.insert(event.cpu, (event.time_ns, switch.next.0));
                    let ns = event.time_ns - last.map_or(START_NS, |(since_ns, _)| since_ns);
                    *ran.entry(event.task.0).or_insert(0) += ns;
                }
                Kind::Migrate(migrate) => *moves.entry(migrate.target.0).or_insert(0) += 1,
                _ => {}
            }
        }
        batch.clear();
    }
    for (since_ns, task) in since.into_values() {
        *ran.entry(task).or_insert(0) += START_NS + SPAN_NS - since_ns;
    }
    let of = |map: &BTreeMap<u32, u64>, task| map.get(&task).copied().unwrap_or(0);
    let percent = |task| (of(&ran, task) * 100 + SPAN_NS / 2) / SPAN_NS;
    let threads = 1_000..1_000 + system.workload.threads.len() as u32;
    threads.map(|task| (percent(task), of(&moves, task))).collect()
}

#[test]
fn three_threads_have_two_thirds_of_a_cpu_each() {
    let shares = shares(&system(vec![hog(), hog(), hog()], Vec::new()));
    for (percent, _) in &shares {
        assert!((60..=73).contains(percent), "{shares:?}");
    }
    // Linux 6.18 moves one of them 68 to 72 times in 10 s (HZ=250).
    let moves: u64 = shares.iter().map(|(_, moves)| moves).sum();
    assert!((120..=180).contains(&moves), "{moves} moves in 20 s: {shares:?}");
}

#[test]
fn two_threads_on_two_cpus_stay_where_they_are() {
    let shares = shares(&system(vec![hog(), hog()], Vec::new()));
    assert_eq!(shares, [(100, 0), (100, 0)]);
}

#[test]
fn one_that_weighs_much_has_a_cpu_of_its_own() {
    let heavy = Thread { policy: Policy::Other { nice: -15 }, ..hog() };
    let shares = shares(&system(vec![heavy, hog(), hog(), hog()], Vec::new()));
    assert!(shares[0].0 >= 95, "{shares:?}");
    for (percent, _) in &shares[1..] {
        assert!((30..=36).contains(percent), "{shares:?}");
    }
}

#[test]
fn who_may_be_on_one_cpu_alone_stays_there() {
    let bound = Thread { cpus: 1, ..hog() };
    let shares = shares(&system(vec![bound.clone(), bound.clone(), bound, hog()], Vec::new()));
    assert_eq!(shares.iter().map(|(_, moves)| moves).sum::<u64>(), 0, "{shares:?}");
}

#[test]
fn threads_leave_the_cpu_that_a_real_time_thread_wants() {
    // It has four fifths of one of the CPUs, out of step with ticks.
    let program = vec![
        Operation::Run(Cost::Constant(8_311_000)),
        Operation::Sleep(Cost::Constant(2_077_000)),
    ];
    let realtime = Thread { policy: Policy::Fifo(50), cpus: 1, ..thread(program) };
    let shares = shares(&system(vec![realtime, hog(), hog(), hog()], Vec::new()));
    for (percent, _) in &shares[1..] {
        assert!((33..=48).contains(percent), "1.2 CPUs among three: {shares:?}");
    }
}

#[test]
fn groups_of_equal_weight_have_as_much_of_both_cpus() {
    let group = |name: &str| Group {
        name: name.to_owned(),
        within: None,
        weight: Some(1024),
        bandwidth: None,
    };
    let of = |group| Thread { group: Some(group), ..hog() };
    let groups = vec![group("/a"), group("/b")];
    let shares = shares(&system(vec![of(0), of(0), of(0), of(1), of(1)], groups));
    let all: u64 = shares[..3].iter().map(|(percent, _)| percent).sum();
    assert!((90..=115).contains(&all), "{shares:?}");
}
