//! Busy CPUs take ordinary threads from each other: who gets how much of two CPUs, and how often somebody is moved.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use tardy_model::{Batch, Kind, Source};
use tardy_sim::truth::Account;
use tardy_sim::{
    Bandwidth, Cost, Group, Machine, Operation, Policy, Preemption, START_NS, Simulated, System,
    Thread, Workload,
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

fn on(cpus: u64, thread: Thread) -> Thread {
    Thread { cpus, ..thread }
}

/// Runs for so long, once.
fn briefly(ms: u64) -> Thread {
    let run = Operation::Run(Cost::Constant(ms * MS));
    thread(vec![run, Operation::Sleep(Cost::Constant(100_000 * MS))])
}

#[test]
fn a_cpu_that_idles_takes_what_begins_to_wait_elsewhere() {
    // The first leaves its CPU idle before the last comes to the other one.
    let late = thread(vec![
        Operation::Sleep(Cost::Constant(200 * MS)),
        Operation::Run(Cost::Constant(100_000 * MS)),
    ]);
    let shares = shares(&system(vec![on(1, briefly(100)), hog(), on(2, late)], Vec::new()));
    assert!(shares[1].0 >= 98 && shares[2].0 >= 98, "{shares:?}");
}

#[test]
fn cpus_beside_one_with_bound_threads_share_what_they_have() {
    let free = || on(0b110, hog());
    let mut threads = vec![free(), free(), free(), on(0b110, briefly(50)), free()];
    threads.push(on(0b110, briefly(50)));
    threads.extend((0..10).map(|_| on(1, hog())));
    let mut system = system(threads, Vec::new());
    system.machine.cpus = 3;
    let shares = shares(&system);
    for at in [0, 1, 2, 4] {
        assert!((45..=55).contains(&shares[at].0), "{shares:?}");
    }
}

#[test]
fn a_thread_of_sched_idle_is_nobody_to_others() {
    let waker = on(1, thread(vec![Operation::Run(Cost::Constant(10 * MS)), Operation::Wake(2)]));
    let idle = on(2, Thread { policy: Policy::Idle, ..hog() });
    let woken = thread(vec![Operation::Wait, Operation::Run(Cost::Constant(MS))]);
    let shares = shares(&system(vec![waker, idle, woken], Vec::new()));
    // It does not take from its waker.
    assert!(shares[0].0 >= 98 && (8..=11).contains(&shares[2].0), "{shares:?}");
}

#[test]
fn a_real_time_thread_that_has_to_make_room_goes_elsewhere() {
    let low = Thread { policy: Policy::Fifo(10), ..hog() };
    let high = thread(vec![
        Operation::Sleep(Cost::Constant(200 * MS)),
        Operation::Run(Cost::Constant(300 * MS)),
    ]);
    let high = on(2, Thread { policy: Policy::Fifo(50), ..high });
    let shares = shares(&system(vec![on(1, hog()), low, high], Vec::new()));
    assert!(shares[1].0 >= 99, "{shares:?}");
    assert!(shares[2].0 >= 55, "{shares:?}");
}

#[test]
fn a_real_time_thread_that_waits_comes_before_ordinary_ones_of_another_cpu() {
    // Both wait for the second CPU's thread of priority 50; the first CPU is free when its own sleeps.
    let with = |priority, runs, sleeps, cpus| {
        let program = vec![
            Operation::Run(Cost::Constant(runs * MS)),
            Operation::Sleep(Cost::Constant(sleeps * MS)),
        ];
        on(cpus, Thread { policy: Policy::Fifo(priority), ..thread(program) })
    };
    let low = Thread { policy: Policy::Fifo(10), ..hog() };
    let threads = vec![with(60, 100, 100, 1), with(50, 300, 1, 2), low, on(1, hog())];
    let shares = shares(&system(threads, Vec::new()));
    // It has what those above it leave, and the ordinary one nothing.
    assert!((48..=51).contains(&shares[2].0) && shares[3].0 <= 1, "{shares:?}");
}

#[test]
fn real_time_threads_without_bandwidth_do_not_get_it_elsewhere() {
    let realtime = || Thread { policy: Policy::Fifo(10), ..hog() };
    let mut system = system(vec![realtime(), realtime(), hog()], Vec::new());
    system.kernel.rt_bandwidth = Some(Bandwidth { runtime_ns: 500 * MS, period_ns: 1_000 * MS });
    let shares = shares(&system);
    assert!(shares[0].0 <= 51 && shares[1].0 <= 51 && shares[2].0 >= 48, "{shares:?}");
}
