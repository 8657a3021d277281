//! What was recorded is done again: scripts in a closed loop, interrupts and thefts by the clock.
#![allow(missing_docs)]

use std::num::NonZeroU64;
use std::sync::Arc;
use tardy_model::{Event, Kind};
use tardy_sim::{
    Arrival, Cost, Device, IdleState, Kernel, Machine, NO_THREAD, Observer, Operation, Outside,
    Pace, START_NS, Scripted, Simulation, System, SystemError, Taken, Thread, ThreadAt, Workload,
};

#[derive(Debug, Default)]
struct Seen {
    /// Who came to run, and when since the beginning.
    runs: Vec<(ThreadAt, u64)>,
    late: Vec<(ThreadAt, u64)>,
    expired: usize,
}

impl Observer for Seen {
    const EVENTS: bool = true;
    const STATES: bool = false;

    fn event(&mut self, event: Event) {
        self.expired += usize::from(matches!(event.kind(), Kind::ExpireBegin(_)));
    }

    fn ran(&mut self, now_ns: u64, thread: ThreadAt, _cpu: u16) {
        self.runs.push((thread, now_ns - START_NS));
    }

    fn late(&mut self, _: u64, thread: ThreadAt, lateness_ns: u64) {
        self.late.push((thread, lateness_ns));
    }
}

fn scripted(steps: &[Scripted]) -> Thread {
    Thread { script: Some(Arc::from(steps)), slack_ns: 0, ..Thread::default() }
}

/// One CPU on which nothing takes time but waking: 1 us.
fn system(threads: Vec<Thread>, outside: Outside) -> System {
    let device =
        Device { name: "eth0".to_owned(), cpu: 0, every: None, handler: Cost::ZERO, softirq: None };
    System {
        machine: Machine { wakeup: Cost::Constant(1_000), ..Machine::default() },
        kernel: Kernel { nohz: true, ..Kernel::default() },
        workload: Workload { threads, devices: vec![device], outside, ..Workload::default() },
        seed: 1,
    }
}

fn seen(system: &System, until_ns: u64) -> Seen {
    let mut simulation = Simulation::new(system, Seen::default()).unwrap();
    simulation.run_until(START_NS + until_ns);
    simulation.into_observer()
}

#[test]
fn threads_do_what_they_did() {
    use Scripted::{Back, Run, Sleep, SleepUntil, Wait, Wake};
    let waker = scripted(&[SleepUntil(10_000), Run(5_000), Wake(1), Sleep(20_000), Back, Run(1)]);
    let woken = scripted(&[Wait, Run(3_000), Wait, Run(2_000)]);
    let arrival =
        Arrival { at_ns: 100_000, cpu: 0, device: 0, handler_ns: 4_000, softirq_ns: 0, wakes: 1 };
    let outside = Outside { arrivals: Arc::from([arrival]), ..Outside::default() };
    let seen = seen(&system(vec![waker, woken], outside), 1_000_000);
    // The waker begins, and the other sleeps from the beginning; the waker's timer fires at 10 us; it runs on after
    // the waking, which takes 1 us, and sleeps at 17 us; the other runs for 3 us; the waker's timer fires at 37 us,
    // and 1 us after it it runs; the interrupt comes at 100 us, its handler takes 4 us, and the waking 1.
    assert_eq!(seen.runs[1..], [(0, 11_000), (1, 17_000), (0, 38_000), (1, 105_000)]);
    assert_eq!(seen.late, [(0, 1_000)], "{:?}", seen.runs);
}

#[test]
fn what_comes_before_it_is_waited_for_is_not_lost() {
    use Scripted::{Run, Sleep, Wait};
    let arrival =
        Arrival { at_ns: 1_000, cpu: 0, device: 0, handler_ns: 0, softirq_ns: 0, wakes: 0 };
    let outside = Outside { arrivals: Arc::from([arrival]), ..Outside::default() };
    let late = scripted(&[Run(50_000), Wait, Run(10), Sleep(1_000), Run(1)]);
    let seen = seen(&system(vec![late], outside), 1_000_000);
    assert_eq!(seen.runs[1..], [(0, 52_010)], "it did not wait");
}

#[test]
fn thefts_come_by_the_clock() {
    use Scripted::{Run, SleepUntil};
    let taken =
        [Taken { at_ns: 9_000, cpu: 0, ns: 30_000 }, Taken { at_ns: 60_000, cpu: 0, ns: 500 }];
    let outside = Outside { thefts: Arc::from(taken), ..Outside::default() };
    let thread = scripted(&[SleepUntil(10_000), Run(50_000), SleepUntil(200_000), Run(1)]);
    let seen = seen(&system(vec![thread], outside), 1_000_000);
    assert_eq!(seen.runs[1..], [(0, 40_000), (0, 201_000)]);
}

#[test]
fn a_cpu_that_polls_sees_whom_its_own_interrupt_wakes() {
    use Scripted::{Run, SleepUntil};
    let thread = scripted(&[SleepUntil(10_000), Run(5_000), SleepUntil(100_000), Run(1)]);
    let mut system = system(vec![thread], Outside::default());
    system.machine.idle_states.push(IdleState {
        name: "POLL".to_owned(),
        exit: Cost::ZERO,
        after: Vec::new(),
        latency_ns: 0,
        residency_ns: 0,
        polls: true,
    });
    let seen = seen(&system, 1_000_000);
    assert_eq!(seen.runs[1..], [(0, 11_000), (0, 101_000)]);
}

#[test]
fn an_idle_cpu_has_no_ticks() {
    let idle = scripted(&[Scripted::SleepUntil(500_000_000), Scripted::Run(10_500_000)]);
    let seen = seen(&system(vec![idle], Outside::default()), 1_000_000_000);
    // Its own timer, and a tick every millisecond while it runs.
    assert_eq!(seen.expired, 1 + 10);
}

#[test]
fn a_script_that_begins_again_goes_on_with_its_times() {
    let steps = [Scripted::SleepUntil(20_000), Scripted::Run(5_000), Scripted::Sleep(30_000)];
    let thread = Thread { again_ns: NonZeroU64::new(100_000), ..scripted(&steps) };
    let mut system = system(vec![thread], Outside::default());
    let runs = |system: &System| -> Vec<u64> {
        let seen = seen(system, 1_000_000);
        seen.runs.iter().skip(1).take(5).map(|(_, ns)| *ns / 10_000).collect()
    };
    // At 20 us, and 30 us after that run; then at 120 us, and so on.
    assert_eq!(runs(&system), [2, 5, 12, 15, 22]);
    system.workload.threads[0].repeat_from = 1;
    // The first sleep is once only.
    assert_eq!(runs(&system)[..4], [2, 5, 9, 12]);
    system.workload.threads[0].again_ns = None;
    assert_eq!(runs(&system), [2, 5]);
    // One that takes no time does not stop the clock.
    let steps = [Scripted::Back];
    system.workload.threads[0] = Thread { again_ns: NonZeroU64::new(1), ..scripted(&steps) };
    assert_eq!(seen(&system, 1_000_000).runs.len(), 1);
}

#[test]
fn a_cpu_changes_its_pace_and_what_threads_do_does_not() {
    let sleeps = [20_000, 60_000, 100_000].map(Scripted::SleepUntil);
    let steps: Vec<Scripted> =
        sleeps.into_iter().flat_map(|sleep| [sleep, Scripted::Run(10_000)]).collect();
    let paces = [(30_000, 0, 2_500), (40_000, 1, 9_000), (65_000, 0, 500)];
    let paces = paces.map(|(at_ns, cpu, permille)| Pace { at_ns, cpu, permille });
    let mut outside = Outside { paces: Arc::from(paces), ..Outside::default() };
    let mut system = system(vec![scripted(&steps)], outside.clone());
    system.machine.cpus = 2;
    system.machine.switch = Cost::Constant(100);
    let seen = seen(&system, 1_000_000);
    // Waking takes 1 us and switching 0.1, then 2.5 times as much, then half.
    let runs: Vec<u64> = seen.runs.iter().skip(1).map(|(_, ns)| *ns).collect();
    assert_eq!(runs, [21_100, 62_750, 100_550]);
    outside.paces = Arc::from([Pace { permille: 0, ..paces[0] }]);
    system.workload.outside = outside;
    assert_eq!(system.check(), Err(SystemError::Outside));
}

#[test]
fn an_interrupt_to_another_cpu_holds_up_who_sends_it() {
    use Operation::{Run, Sleep, Wait, Wake};
    let on = |cpus: u64, program: Vec<Operation>| Thread {
        cpus,
        program,
        slack_ns: 0,
        repeat_from: usize::MAX,
        ..Thread::default()
    };
    let ns = Cost::Constant;
    let waits = vec![Wait, Run(ns(1_000))];
    let threads = vec![
        on(0b001, vec![Sleep(ns(10_000)), Wake(1), Wake(2)]),
        on(0b010, waits.clone()),
        on(0b100, waits),
    ];
    let mut system = system(threads, Outside::default());
    system.machine.cpus = 3;
    for (send_ns, second_ns) in [(0, 13_000), (500, 13_500)] {
        system.machine.ipi_send = ns(send_ns);
        let seen = seen(&system, 1_000_000);
        let run = |thread: ThreadAt| seen.runs.iter().rev().find(|(who, _)| *who == thread);
        // Its own waking takes 1 us, and each that it does as well.
        assert_eq!(run(1), Some(&(1, 12_000)));
        assert_eq!(run(2), Some(&(2, second_ns)));
    }
    // What is done again takes what it took, with the sending.
    system.workload.threads[0] = Thread {
        cpus: 0b001,
        ..scripted(&[Scripted::Sleep(10_000), Scripted::Wake(1), Scripted::Wake(2)])
    };
    let seen = seen(&system, 1_000_000);
    assert_eq!(seen.runs.last(), Some(&(2, 13_000)));
}

#[test]
fn what_cannot_be_done_again_is_refused() {
    let arrival =
        Arrival { at_ns: 5, cpu: 0, device: 0, handler_ns: 0, softirq_ns: 0, wakes: NO_THREAD };
    let earlier = Arrival { at_ns: 4, ..arrival };
    let wrong = [
        vec![arrival, earlier],
        vec![Arrival { cpu: 1, ..arrival }],
        vec![Arrival { device: 1, ..arrival }],
        vec![Arrival { wakes: 7, ..arrival }],
    ];
    for arrivals in wrong {
        let outside = Outside { arrivals: arrivals.into(), ..Outside::default() };
        let refused = system(Vec::new(), outside).check();
        assert_eq!(refused, Err(SystemError::Outside));
    }
    let wakes_nobody = scripted(&[Scripted::Wake(9)]);
    assert!(system(vec![wakes_nobody], Outside::default()).check().is_err());
}
