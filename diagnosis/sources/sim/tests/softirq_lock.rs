//! The lock of softirqs' threads: who is woken by a timer's callback that it has preempted waits for the thread that runs it,
//! and lends it its priority.
#![allow(missing_docs)]

mod events;

use tardy_model::event::{Priority, TaskState};
use tardy_model::{Event, Kind, TaskId};
use tardy_sim::{Cost, Kernel, Machine, Operation, Policy, Simulated, System, Thread, Workload};

const SWITCH_NS: u64 = 1_000;
const SPAN_NS: u64 = 1_000_000_000;
const SLEEPER: TaskId = TaskId(1000);

/// A thread of priority 60 that sleeps to every 10 ms, whose timer a thread of another priority expires.
fn events(softirq_lock: bool, timer_thread: u8) -> Vec<Event> {
    let mut kernel =
        Kernel { timers: "timer-thread".to_owned(), softirq_lock, ..Kernel::default() };
    kernel.settings.timer_thread = timer_thread;
    let grid = Operation::SleepGrid { period_ns: 10_000_000, phase: Cost::ZERO, from_ns: 100_000 };
    let sleeper = Thread { policy: Policy::Fifo(60), program: vec![grid], ..Thread::default() };
    let system = System {
        machine: Machine { switch: Cost::Constant(SWITCH_NS), ..Machine::default() },
        kernel,
        workload: Workload { threads: vec![sleeper], ..Workload::default() },
        seed: 1,
    };
    let mut source = Simulated::new(&system, SPAN_NS, ()).expect("it can be");
    events::events(&mut source)
}

/// How late each sleep ended, how often it waited for the lock, and priorities lent and given back.
fn seen(events: &[Event]) -> (Vec<u64>, usize, [usize; 2]) {
    let ends = events.iter().filter(|event| event.task == SLEEPER);
    let ends = ends.filter(|event| matches!(event.kind(), Kind::SyscallExit(_)));
    let late = ends.map(|event| event.time_ns % 10_000_000 - 100_000).collect();
    let waits = events.iter().filter(|event| {
        matches!(event.kind(), Kind::Switch(switch) if event.task == SLEEPER && switch.prev_state == TaskState::RtLock)
    });
    let mut priorities = [0, 0];
    for event in events {
        if let Kind::Priority(Priority { released, .. }) = event.kind() {
            priorities[usize::from(released)] += 1;
        }
    }
    (late, waits.count(), priorities)
}

/// By hand: a switch to the thread for timers and one to the sleeper; and with the lock one back and one again.
#[test]
fn a_thread_above_waits_for_the_callback_that_it_preempted() {
    let (late, waits, priorities) = seen(&events(false, 1));
    assert!(late.len() > 90 && late.iter().all(|ns| *ns == 2 * SWITCH_NS), "{late:?}");
    assert_eq!((waits, priorities), (0, [0, 0]));
    let (late, waits, priorities) = seen(&events(true, 1));
    assert!(late.len() > 90 && late.iter().all(|ns| *ns == 4 * SWITCH_NS), "{late:?}");
    assert_eq!((waits, priorities), (late.len(), [late.len(), late.len()]));
}

/// Who does not preempt the callback finds it done.
#[test]
fn a_thread_below_does_not() {
    let (late, waits, priorities) = seen(&events(true, 70));
    assert!(late.len() > 90 && late.iter().all(|ns| *ns == 2 * SWITCH_NS), "{late:?}");
    assert_eq!((waits, priorities), (0, [0, 0]));
}
