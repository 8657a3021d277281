//! Ticks of CPUs that have nothing to do: stopped while they sleep, and started again before anybody runs.
#![allow(missing_docs)]

use tardy_model::{Batch, Kind, Source, TaskId};
use tardy_sim::truth::{Account, Truth};
use tardy_sim::{
    Cost, IdleState, Kernel, Machine, Operation, Policy, Simulated, System, Thread, Workload,
};

const SPAN_NS: u64 = 1_000_000_000;
const RESTART_NS: u64 = 5_000;

fn sleeps() -> IdleState {
    IdleState {
        name: "C1".to_owned(),
        exit: Cost::Constant(1_000),
        latency_ns: 1_000,
        residency_ns: 0,
        polls: false,
    }
}

fn polls() -> IdleState {
    IdleState { name: "POLL".to_owned(), exit: Cost::ZERO, polls: true, ..sleeps() }
}

/// A thread that runs for 10 µs each millisecond, alone on its CPU.
fn system(state: IdleState, nohz: bool) -> System {
    let thread = Thread {
        name: "cyclic".to_owned(),
        policy: Policy::Fifo(50),
        program: vec![
            Operation::SleepGrid {
                period_ns: 1_000_000,
                phase: Cost::Constant(300_000),
                from_ns: 0,
            },
            Operation::Run(Cost::Constant(10_000)),
        ],
        watched: true,
        ..Thread::default()
    };
    System {
        machine: Machine {
            switch: Cost::Constant(900),
            tick: Cost::Constant(1_000),
            tick_restart: Cost::Constant(RESTART_NS),
            idle_states: vec![state],
            ..Machine::default()
        },
        kernel: Kernel { nohz, ..Kernel::default() },
        workload: Workload { threads: vec![thread], ..Workload::default() },
        ..System::default()
    }
}

/// The median lateness, and how many ticks there were.
fn run(system: &System) -> (u64, usize) {
    let mut source = Simulated::new(system, SPAN_NS, Account::new(system)).expect("it can be");
    let mut batch = Batch::default();
    // What the idle task itself arms right before it is left.
    let (mut ticks, mut in_interrupt, mut has_armed, mut restarted) = (0, false, false, 0);
    while source.next_batch(&mut batch).expect("it goes on") {
        for event in &batch.events {
            match event.kind() {
                Kind::ExpireBegin(_) => ticks += 1,
                Kind::IrqBegin(_) => in_interrupt = true,
                Kind::IrqEnd(_) => in_interrupt = false,
                Kind::Switch(_) => restarted += usize::from(has_armed),
                _ => {}
            }
            if !matches!(event.kind(), Kind::SectionBegin(_) | Kind::SectionEnd(_)) {
                let arms = matches!(event.kind(), Kind::TimerArm(_)) && !in_interrupt;
                has_armed = arms && event.task == TaskId::IDLE;
            }
        }
        batch.clear();
    }
    let mut late: Vec<u64> = source.observer_mut().take().iter().map(lateness_ns).collect();
    // Each wakeup is an expiry, too.
    let ticks = ticks - late.len().min(ticks);
    let sleeps = !system.machine.idle_states[0].polls;
    // Once at the beginning in any case.
    let restarts = if sleeps && system.kernel.nohz { late.len() } else { 1 };
    assert_eq!(restarted.max(1), restarts);
    late.sort_unstable();
    (late[late.len() / 2], ticks)
}

fn lateness_ns(truth: &Truth) -> u64 {
    truth.segments.iter().map(|segment| segment.ns).sum()
}

#[test]
fn a_stopped_tick_is_started_again_before_anybody_runs() {
    let (always_ns, always) = run(&system(sleeps(), false));
    let (stopped_ns, stopped) = run(&system(sleeps(), true));
    assert_eq!(stopped_ns, always_ns + RESTART_NS);
    assert!(always > 900 && stopped < 50, "{always} ticks, and {stopped}");
}

#[test]
fn no_tick_is_stopped_for_a_loop() {
    let (always_ns, always) = run(&system(polls(), false));
    let (nohz_ns, nohz) = run(&system(polls(), true));
    assert_eq!((nohz_ns, nohz), (always_ns, always));
}

#[test]
fn a_policy_by_ticks_has_all_of_them() {
    let with = |nohz| {
        let mut system = system(sleeps(), nohz);
        system.kernel.timers = "jiffy-list".to_owned();
        let mut source = Simulated::new(&system, SPAN_NS, ()).expect("it can be");
        let (mut events, mut batch) = (Vec::new(), Batch::default());
        while source.next_batch(&mut batch).expect("it goes on") {
            events.append(&mut batch.events);
            batch.clear();
        }
        events
    };
    assert!(with(true) == with(false));
}
