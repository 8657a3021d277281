//! The first truths: machines of constant costs whose latenesses are summed by hand, and one culprit of known
//! length at each phase of a wakeup. What the explainer makes of the events is held against the same lines.
#![allow(missing_docs)]

use tardy_explain::{Explainer, Named, Options, Sink};
use tardy_model::{Batch, Culprit, Source};
use tardy_sim::truth::{Account, Kind, Truth};
use tardy_sim::{
    Cost, IdleState, Kernel, Machine, Operation, Policy, Preemption, Simulated, Softirqs, System,
    Thread, Workload,
};

const MS: u64 = 1_000_000;

/// Every cost is another number, so that a sum shows which of them are in it.
fn machine() -> Machine {
    Machine {
        program: Cost::Constant(500),
        irq_entry: Cost::Constant(700),
        irq_exit: Cost::Constant(300),
        queue_operation: Cost::Constant(150),
        callback: Cost::Constant(400),
        tick: Cost::Constant(1_000),
        softirq_entry: Cost::Constant(250),
        wakeup: Cost::Constant(600),
        switch: Cost::Constant(900),
        ipi: Cost::Constant(350),
        ipi_send: Cost::Constant(170),
        ipi_handler: Cost::Constant(330),
        syscall_entry: Cost::Constant(120),
        syscall_exit: Cost::Constant(130),
        idle_entry: Cost::Constant(200),
        idle_states: vec![IdleState {
            name: "C1".to_owned(),
            exit: Cost::Constant(2_000),
            after: Vec::new(),
            latency_ns: 2_000,
            residency_ns: 0,
            polls: false,
        }],
        ..Machine::default()
    }
}

/// A thread that sleeps to every 10 ms, from `phase_ns` on.
fn cyclic(name: &str, prio: u8, phase_ns: u64) -> Thread {
    Thread {
        name: name.to_owned(),
        policy: Policy::Fifo(prio),
        program: vec![Operation::SleepGrid {
            period_ns: 10 * MS,
            phase: Cost::Constant(phase_ns),
            from_ns: 0,
        }],
        watched: true,
        ..Thread::default()
    }
}

/// One that runs `operation` from about `at_ns` on, once.
fn once(name: &str, policy: Policy, at_ns: u64, operation: Operation) -> Thread {
    Thread {
        name: name.to_owned(),
        policy,
        slack_ns: 0,
        program: vec![Operation::Sleep(Cost::Constant(at_ns)), operation],
        repeat_from: usize::MAX,
        ..Thread::default()
    }
}

fn system(threads: Vec<Thread>) -> System {
    let workload = Workload { threads, ..Workload::default() };
    System { machine: machine(), workload, ..System::default() }
}

/// Causes with nanoseconds, in order.
type Balance = Vec<(&'static str, u64)>;

/// What the explainer says of timed wakeups.
#[derive(Default)]
struct Told(Vec<(u32, Balance)>);

impl Sink for Told {
    fn wakeup(&mut self, named: &Named<'_>) {
        let wakeup = named.wakeup();
        let segments = wakeup.segments.iter().map(|segment| (segment.cause.0, segment.ns));
        self.0.push((wakeup.task.0, merged(segments)));
    }
}

fn merged(segments: impl Iterator<Item = (&'static str, u64)>) -> Balance {
    let mut merged: Balance = Vec::new();
    for (cause, ns) in segments {
        match merged.last_mut() {
            Some(last) if last.0 == cause => last.1 += ns,
            _ => merged.push((cause, ns)),
        }
    }
    merged
}

/// The first wakeup of the first thread that is of a kind, by the account; the explainer has to say the same.
fn first(system: &System, kind: Kind) -> (Truth, Balance) {
    let mut source = Simulated::new(system, 40 * MS, Account::new(system)).expect("it can be");
    let mut explainer = Explainer::new(Options::default(), Told::default());
    let mut batch = Batch::default();
    while source.next_batch(&mut batch).expect("it goes on") {
        explainer.batch(&batch);
        batch.clear();
    }
    let truths = source.observer_mut().take();
    let own: Vec<&Truth> = truths.iter().filter(|truth| truth.task.0 == FIRST).collect();
    let at = own.iter().position(|truth| truth.kind == kind).expect("there is one");
    let balance = merged(own[at].segments.iter().map(|segment| (segment.cause, segment.ns)));
    let (_, Told(told)) = explainer.finish();
    let mut told = told.into_iter().filter(|(task, _)| *task == FIRST);
    assert_eq!(told.nth(at), Some((FIRST, balance.clone())), "explained as it is true");
    (own[at].clone(), balance)
}

/// The thread id of a system's first thread.
const FIRST: u32 = 1000;

/// The way from an interrupt to a thread that it wakes, where nothing comes between: to the callback, the
/// callback with the wakeup, and out again with the device programmed.
const WAY: [(&str, u64); 3] = [("interrupts", 700), ("callback", 1_000), ("interrupts", 800)];

fn with_way(before: &[(&'static str, u64)], after: &[(&'static str, u64)]) -> Balance {
    before.iter().chain(&WAY).chain(after).copied().collect()
}

#[test]
fn an_idle_machines_lateness_is_the_sum_of_its_costs() {
    let (truth, balance) = first(&system(vec![cyclic("own", 50, 500_000)]), Kind::Timer);
    assert_eq!(balance, with_way(&[("idle_exit", 2_000)], &[("idle_exit", 900)]));
    assert_eq!(truth.lateness_ns, 2_000 + 700 + 400 + 600 + 500 + 300 + 900);
}

#[test]
fn without_any_cost_nobody_is_late() {
    let free = System { machine: Machine::default(), ..system(vec![cyclic("own", 50, 500_000)]) };
    let (truth, balance) = first(&free, Kind::Timer);
    assert_eq!((truth.lateness_ns, balance), (0, vec![]));
}

/// A thread that never sleeps.
fn busy(policy: Policy, operation: Operation) -> Thread {
    Thread { policy, program: vec![operation], ..Thread::default() }
}

const FAIR: Policy = Policy::Other { nice: 0 };

#[test]
fn a_late_device_is_nobodys_fault() {
    let run = Operation::Run(Cost::Constant(5 * MS));
    let mut system = system(vec![cyclic("own", 50, 500_000), busy(FAIR, run)]);
    system.machine.device_late = Cost::Constant(1_234);
    let (_, balance) = first(&system, Kind::Timer);
    assert_eq!(balance, with_way(&[("irq_delay", 1_234)], &[("not_preemptible", 900)]));
}

#[test]
fn interrupts_that_are_off_are_the_tasks_who_has_them_off() {
    let off = once("off", FAIR, 450_000, Operation::IrqsOff(Cost::Constant(100_000)));
    let (truth, balance) = first(&system(vec![cyclic("own", 50, 500_000), off]), Kind::Timer);
    assert_eq!(balance[0].0, "irqs_off");
    assert_eq!(truth.segments[0].culprit, tardy_model::Culprit::Task(tardy_model::TaskId(1001)));
    // It began before the expiry, and ended 100 µs after its begin.
    assert!((40_000..100_000).contains(&balance[0].1), "{balance:?}");
    assert_eq!(balance, with_way(&balance[..1], &[("not_preemptible", 900)]));
}

#[test]
fn what_cannot_be_preempted_is_not_preempted() {
    let off = || Operation::PreemptOff(Cost::Constant(100_000));
    let mut system = system(vec![cyclic("own", 50, 500_000), once("off", FAIR, 450_000, off())]);
    let (truth, balance) = first(&system, Kind::Timer);
    assert_eq!(balance[..3], WAY);
    assert_eq!(balance[3].0, "not_preemptible");
    assert!(balance[3].1 > 40_000 && balance.len() == 4, "{balance:?}");
    assert_eq!(truth.segments[3].culprit, tardy_model::Culprit::Task(tardy_model::TaskId(1001)));
    // A thread in the kernel holds it up just as long where the kernel does not preempt.
    let kernel = Operation::Kernel(Cost::Constant(100_000));
    system.workload.threads[1] = once("off", FAIR, 450_000, kernel);
    for (preemption, held) in [
        (Preemption::None, true),
        (Preemption::Voluntary, true),
        (Preemption::Lazy, false),
        (Preemption::Full, false),
        (Preemption::Rt, false),
    ] {
        system.kernel.preemption = preemption;
        let (_, balance) = first(&system, Kind::Timer);
        assert_eq!(balance[3].1 > 40_000, held, "{preemption:?}: {balance:?}");
    }
}

#[test]
fn threads_above_and_beside_have_their_turn() {
    let run = || Operation::Run(Cost::Constant(100_000));
    for (policy, cause) in [
        (Policy::Fifo(90), "higher_priority"),
        (Policy::Deadline { deadline_ns: MS }, "higher_priority"),
        (Policy::Fifo(50), "cpu_contention"),
    ] {
        let threads = vec![cyclic("own", 50, 500_000), once("other", policy, 450_000, run())];
        let (_, balance) = first(&system(threads), Kind::Timer);
        assert_eq!(balance[..3], WAY);
        assert_eq!(balance[3].0, cause);
        assert!(balance[3].1 > 40_000 && balance.len() == 4, "{policy:?}: {balance:?}");
    }
}

#[test]
fn timers_that_are_due_at_the_same_time_stack() {
    // The second timer of an interrupt is taken off the queue by the loop, for 150 ns.
    let with = |at_ns| {
        let threads = vec![cyclic("own", 50, 500_000), once("other", FAIR, at_ns, Operation::Wait)];
        first(&system(threads), Kind::Timer).1
    };
    let (exit, after) = (("idle_exit", 2_000), ("idle_exit", 900));
    // Less than a microsecond before the own one: the CPU was woken for it, so that it is late by less.
    let before = with(497_500);
    let [(first, exit_ns), way @ ..] = &before[..] else { panic!("{before:?}") };
    assert!(*first == "idle_exit" && (1_000..2_000).contains(exit_ns), "{before:?}");
    let expected = [
        ("interrupts", 700),
        ("stacked_timers", 1_000),
        ("callback", 1_150),
        ("interrupts", 800),
        after,
    ];
    assert_eq!(way, expected);
    // And after it.
    let expected = [
        exit,
        ("interrupts", 700),
        ("callback", 1_000),
        ("stacked_timers", 1_150),
        ("interrupts", 800),
        after,
    ];
    assert_eq!(with(499_000), expected);
}

#[test]
fn a_deferred_timer_waits_for_its_softirq() {
    let mut own = cyclic("own", 50, 500_000);
    (own.policy, own.slack_ns) = (FAIR, 50_000);
    let mut system = system(vec![own]);
    system.kernel =
        Kernel { timers: "deferred".to_owned(), softirqs: Softirqs::Ktimers, ..Kernel::default() };
    let (truth, balance) = first(&system, Kind::Timer);
    let expected = [
        ("slack", 50_000),
        ("idle_exit", 2_000),
        ("interrupts", 700),
        // Out of the interrupt, ktimers woken and switched to, and its way to the softirq.
        ("softirq_wait", 800 + 600 + 900 + 250),
        ("callback", 1_000),
        // ktimers goes to sleep.
        ("higher_priority", 900),
    ];
    assert_eq!(balance, expected);
    assert_eq!(truth.lateness_ns, 50_000 + 8_150 - 1_000);
}

#[test]
fn who_asks_for_what_has_passed_is_late_by_itself() {
    let run = Operation::Run(Cost::Constant(25 * MS));
    let mut own = cyclic("own", 50, 500_000);
    own.program.push(run);
    let mut system = system(vec![own]);
    // It sleeps until the interrupt comes, or is woken before it sleeps.
    for device_late_ns in [5_000, 0] {
        system.machine.device_late = Cost::Constant(device_late_ns);
        let account = Account::new(&system);
        let mut source = Simulated::new(&system, 80 * MS, account).expect("it can be");
        while source.next_batch(&mut Batch::default()).expect("it goes on") {}
        let truths = source.observer_mut().take();
        let own = |truth: &Truth| -> u64 {
            let own = Culprit::Task(truth.task);
            let late = truth.segments.iter();
            let late = late.filter(|it| it.cause == "armed_late" && it.culprit == own);
            late.map(|it| it.ns).sum()
        };
        let late: Vec<u64> = truths.iter().map(own).filter(|ns| *ns > 0).collect();
        assert!(late.len() >= 2 && late[1] > late[0] + 14 * MS, "{late:?}");
    }
}

#[test]
fn a_cpu_that_sleeps_has_to_be_told() {
    let waits = Thread { cpus: 0b10, program: vec![Operation::Wait], ..cyclic("own", 50, 0) };
    let wakes = Thread { cpus: 0b01, ..once("waker", FAIR, 500_000, Operation::Wake(0)) };
    let mut system = system(vec![waits, wakes]);
    system.machine.cpus = 2;
    let mut source = Simulated::new(&system, 40 * MS, Account::new(&system)).expect("it can be");
    while source.next_batch(&mut Batch::default()).expect("it goes on") {}
    let truths = source.observer_mut().take();
    let own = truths.iter().filter(|truth| truth.task.0 == FIRST).nth(1).expect("it is woken");
    let balance = merged(own.segments.iter().map(|segment| (segment.cause, segment.ns)));
    let expected = [("idle_exit", 600 + 350 + 2_000), ("interrupts", 330), ("idle_exit", 900)];
    assert_eq!(balance, expected);
}
