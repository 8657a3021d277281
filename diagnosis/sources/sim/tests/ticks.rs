//! Ticks of CPUs that have nothing to do: stopped while they sleep, and started again before anybody runs.
#![allow(missing_docs)]

mod events;

use events::events;
use tardy_model::{Kind, TaskId};
use tardy_sim::truth::{Account, Truth};
use tardy_sim::{
    Cost, IdleState, Kernel, Machine, Operation, Policy, Simulated, System, Thread, Workload,
};
use tardy_timers::policy::KNOWN;

const SPAN_NS: u64 = 1_000_000_000;
const RESTART_NS: u64 = 5_000;

fn sleeps() -> IdleState {
    IdleState {
        name: "C1".to_owned(),
        exit: Cost::Constant(1_000),
        after: Vec::new(),
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
    // What the idle task itself arms right before it is left.
    let (mut ticks, mut in_interrupt, mut has_armed, mut restarted) = (0, false, false, 0);
    for event in events(&mut source) {
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
    let mut late: Vec<u64> = source.observer_mut().take().iter().map(lateness_ns).collect();
    // Each wakeup is an expiry, too.
    let ticks = ticks - late.len().min(ticks);
    let sleeps = !system.machine.idle_states[0].polls;
    let stops = sleeps && system.kernel.nohz && system.kernel.nohz_from_ns == 0;
    // Once at the beginning in any case.
    assert_eq!(restarted.max(1), if stops { late.len() } else { 1 });
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
fn a_tick_is_kept_for_a_short_sleep_where_the_governor_does_that() {
    let (always_ns, always) = run(&system(sleeps(), false));
    let mut system = system(sleeps(), true);
    system.kernel.nohz_from_ns = 2_000_000;
    let (kept_ns, kept) = run(&system);
    assert_eq!((kept_ns, kept), (always_ns, always));
}

#[test]
fn no_tick_is_stopped_where_the_state_that_is_chosen_polls() {
    let mut system = system(polls(), true);
    // The thread's next timer is never so far.
    system.machine.idle_states.push(IdleState { residency_ns: 5_000_000, ..sleeps() });
    let (polls_ns, _) = run(&system);
    assert_eq!(polls_ns, 900);
}

#[test]
fn a_policy_by_ticks_has_all_of_them() {
    for policy in KNOWN {
        let with = |nohz| {
            let mut system = system(sleeps(), nohz);
            system.kernel.timers = policy.name.to_owned();
            let mut source = Simulated::new(&system, SPAN_NS, ()).expect("it can be");
            events(&mut source)
        };
        assert_eq!(with(true) == with(false), policy.by_tick, "{}", policy.name);
    }
}

/// The tick is the kernel's own: whoever expires the timers of threads, it takes the CPU from one whose turn is over.
#[test]
fn no_policy_keeps_a_tick_waiting() {
    for policy in KNOWN {
        let mut system = system(sleeps(), true);
        system.kernel.timers = policy.name.to_owned();
        system.workload.threads.push(Thread {
            name: "low".to_owned(),
            policy: Policy::Other { nice: 19 },
            program: vec![
                Operation::Run(Cost::Constant(300_000_000)),
                Operation::Sleep(Cost::Constant(20_000_000)),
            ],
            ..Thread::default()
        });
        let mut source =
            Simulated::new(&system, SPAN_NS, Account::new(&system)).expect("it can be");
        events(&mut source);
        let latest_ns = source.observer_mut().take().iter().map(lateness_ns).max();
        assert!(latest_ns.is_some_and(|ns| ns < 20_000_000), "{}: {latest_ns:?} ns", policy.name);
    }
}
