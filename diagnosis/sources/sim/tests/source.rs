//! A simulation as a source: in time order, the same again, and drawn independently of what else there is.
#![allow(missing_docs)]

mod events;

use tardy_model::event::SyscallEnter;
use tardy_model::{Batch, Event, Kind, Source, TaskId};
use tardy_sim::{
    Cost, Device, Kernel, Machine, Operation, Policy, Simulated, Softirqs, System, SystemError,
    Theft, Thread, Workload,
};

const SPAN_NS: u64 = 50_000_000;

fn storm(threads: u32, timers: &str) -> System {
    let thread = |at| Thread {
        name: format!("storm-{at}"),
        program: vec![
            Operation::Sleep(Cost::Uniform { from_ns: 0, to_ns: 1_000_000 }),
            Operation::Run(Cost::Exponential { mean_ns: 2_000.0 }),
        ],
        ..Thread::default()
    };
    System {
        machine: Machine {
            cpus: 2,
            irq_entry: Cost::LogNormal { median_ns: 700.0, sigma: 0.3 },
            switch: Cost::Constant(900),
            theft: Some(Theft {
                every: Cost::Exponential { mean_ns: 1e6 },
                length: Cost::Constant(50_000),
            }),
            ..Machine::default()
        },
        kernel: Kernel {
            timers: timers.to_owned(),
            softirqs: Softirqs::Ktimers,
            ..Kernel::default()
        },
        workload: Workload {
            threads: (0..threads).map(thread).collect(),
            devices: vec![Device {
                name: "eth0".to_owned(),
                cpu: 1,
                every: Some(Cost::Exponential { mean_ns: 100_000.0 }),
                handler: Cost::Constant(2_000),
                softirq: Some(Cost::Constant(8_000)),
            }],
            ..Workload::default()
        },
        seed: 7,
    }
}

fn events(system: &System) -> Vec<Event> {
    let mut source = Simulated::new(system, SPAN_NS, ()).expect("it can be");
    events::events(&mut source)
}

#[test]
fn every_policy_yields_events_in_time_order_and_the_same_again() {
    for about in tardy_timers::policy::KNOWN {
        let system = storm(10, about.name);
        let once = events(&system);
        assert!(once.is_sorted_by_key(|event| event.time_ns), "{}", about.name);
        assert_eq!(once, events(&system), "{}", about.name);
        let expiries = once.iter().filter(|event| matches!(event.kind(), Kind::ExpireEnd(_)));
        assert!(expiries.count() > 500, "{}: its timers fire", about.name);
    }
}

/// How many sleeps a thread has begun.
fn sleeps(events: &[Event], task: u32) -> usize {
    let begins = |event: &&Event| event.task == TaskId(task) && event.tag() == SyscallEnter::TAG;
    events.iter().filter(begins).count()
}

/// The first time a thread asked for, from where it asked.
fn first_request(events: &[Event], task: u32) -> u64 {
    let armed = events.iter().filter(|event| event.task == TaskId(task));
    let mut requests = armed.filter_map(|event| match event.kind() {
        Kind::TimerArm(arm) => Some(arm.soft_ns - event.time_ns),
        _ => None,
    });
    requests.next().expect("it sleeps")
}

#[test]
fn another_policy_or_thread_changes_no_draw_of_others() {
    let few = events(&storm(4, "hardirq"));
    for other in [events(&storm(9, "hardirq")), events(&storm(4, "deferred"))] {
        for task in 1000..1004 {
            assert_eq!(first_request(&few, task), first_request(&other, task), "{task}");
        }
    }
    assert_ne!(first_request(&few, 1000), first_request(&few, 1001));
}

#[test]
fn fair_threads_share_a_cpu_by_their_weight() {
    let hog = |nice| Thread {
        policy: Policy::Other { nice },
        program: vec![
            Operation::Run(Cost::Constant(100_000)),
            Operation::Rearm(Cost::Constant(10_000_000)),
        ],
        ..Thread::default()
    };
    let workload = Workload { threads: vec![hog(0), hog(5)], ..Workload::default() };
    let mut system = System { workload, ..System::default() };
    system.machine.switch = Cost::Constant(1_000);
    let mut source = Simulated::new(&system, 3_000_000_000, ()).expect("it can be");
    let (mut events, mut batch) = (Vec::new(), Batch::default());
    while source.next_batch(&mut batch).expect("it goes on") {
        events.append(&mut batch.events);
        batch.clear();
    }
    // Five steps of nice: weights of 1024 and 335.
    let ratio = sleeps(&events, 1000) as f64 / sleeps(&events, 1001) as f64;
    assert!((2.9..3.2).contains(&ratio), "{ratio}");
}

#[test]
fn impossible_systems_are_refused() {
    let refused = |change: fn(&mut System)| {
        let mut system = storm(1, "hardirq");
        change(&mut system);
        Simulated::new(&system, 1, ()).err().expect("it cannot be")
    };
    assert_eq!(refused(|it| it.machine.cpus = 0), SystemError::Cpus(0));
    assert_eq!(
        refused(|it| it.kernel.timers = "best".to_owned()),
        SystemError::Timers("best".to_owned())
    );
    for (change, why) in [
        (
            (|it| it.machine.tick = Cost::Exponential { mean_ns: -1.0 }) as fn(&mut System),
            "tick: a time is from 0",
        ),
        (|it| it.workload.threads[0].cpus = 0b100, "thread storm-0: the machine has none"),
        (|it| it.workload.threads[0].policy = Policy::Fifo(0), "from 1 to 99"),
        (
            |it| it.workload.threads[0].program = vec![Operation::Wake(1)],
            "a thread that does not exist",
        ),
        (
            |it| it.workload.threads[0].program = vec![Operation::Lock(0)],
            "a lock that does not exist",
        ),
        (|it| it.workload.devices[0].cpu = 2, "there is no CPU 2"),
    ] {
        let said = refused(change).to_string();
        assert!(said.contains(why), "{said}");
    }
}
