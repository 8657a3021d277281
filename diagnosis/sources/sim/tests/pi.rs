//! Locks with priority inheritance: who lends whom a priority, how often, and what it costs, in the old kernel
//! and in the new one.
#![allow(missing_docs)]

use tardy_explain::{Explainer, Named, Options, Sink};
use tardy_model::event::{Call, Priority, futex};
use tardy_model::{Batch, Event, Kind, Source, TaskId, WakeupKind};
use tardy_sim::file::{known_system, read};
use tardy_sim::{Rtmutex, Simulated};

const HIGH: TaskId = TaskId(1000);
const LOW: TaskId = TaskId(1002);
const SPAN_NS: u64 = 4_000_000_000;

fn events(rtmutex: Rtmutex) -> Vec<Event> {
    let known = known_system("pi-spike").expect("it comes with the program");
    let mut file = read(known.text).expect("it can be");
    file.system.kernel.rtmutex = rtmutex;
    let mut source = Simulated::new(&file.system, SPAN_NS, ()).expect("it can be");
    let (mut events, mut batch) = (Vec::new(), Batch::default());
    while source.next_batch(&mut batch).expect("it goes on") {
        events.append(&mut batch.events);
        batch.clear();
    }
    events
}

/// How long High's calls for the lock took in which it lent Low its priority, and how often it lent it a second
/// time because Low, put back to its own, still was in the call in which it had given the lock up.
fn calls(events: &[Event]) -> (Vec<u64>, u32) {
    let (mut calls, mut twice) = (Vec::new(), 0);
    let mut open: Option<(u64, bool)> = None;
    let (mut unlocks, mut put_back) = (false, false);
    for event in events {
        match (event.task, event.kind()) {
            (HIGH, Kind::SyscallEnter(call)) if call.op == futex::LOCK_PI => {
                open = (call.call == Call::Futex).then_some((event.time_ns, false));
            }
            (HIGH, Kind::SyscallExit(_)) => {
                if let Some((since_ns, true)) = open.take() {
                    calls.push(event.time_ns - since_ns);
                }
            }
            (LOW, Kind::SyscallEnter(call)) => {
                unlocks = call.op == futex::UNLOCK_PI;
                put_back = false;
            }
            (LOW, Kind::SyscallExit(_)) => unlocks = false,
            (_, Kind::Priority(Priority { target: LOW, released, .. })) => {
                put_back |= released && unlocks;
                if event.task == HIGH && !released {
                    twice += u32::from(unlocks && put_back);
                    open = open.map(|(since_ns, _)| (since_ns, true));
                }
            }
            _ => {}
        }
    }
    (calls, twice)
}

#[test]
fn the_old_kernel_boosts_twice_and_the_new_one_does_not() {
    let (old, new) = (calls(&events(Rtmutex::Old)), calls(&events(Rtmutex::New)));
    assert!(old.0.len() > 100 && new.0.len() > 100, "there are calls that wait");
    assert!(old.1 > 0 && new.1 == 0, "{} and {}", old.1, new.1);
}

/// Counts the calls for a lock that are explained, and in how many of them somebody was boosted twice.
#[derive(Default)]
struct Calls(u32, u32);

impl Sink for Calls {
    fn wakeup(&mut self, named: &Named<'_>) {
        let wakeup = named.wakeup();
        let lent = wakeup.boosts.iter().filter(|boost| !boost.released && boost.target == LOW);
        self.0 += u32::from(wakeup.kind == WakeupKind::Lock);
        self.1 += u32::from(wakeup.kind == WakeupKind::Lock && lent.count() >= 2);
    }
}

#[test]
fn the_explainer_tells_of_the_calls() {
    let known = known_system("pi-spike").expect("it comes with the program");
    let mut file = read(known.text).expect("it can be");
    file.system.kernel.rtmutex = Rtmutex::Old;
    let mut source = Simulated::new(&file.system, SPAN_NS, ()).expect("it can be");
    let mut explainer = Explainer::new(Options::default(), Calls::default());
    let mut batch = Batch::default();
    while source.next_batch(&mut batch).expect("it goes on") {
        explainer.batch(&batch);
        batch.clear();
    }
    let (_, Calls(calls, twice)) = explainer.finish();
    assert!(calls > 100 && twice > 0, "{twice} of {calls}");
}

/// Whoever lends a priority gets it back, and nobody keeps one.
#[test]
fn what_is_lent_is_given_back() {
    for rtmutex in [Rtmutex::Old, Rtmutex::New] {
        let mut lent = 0;
        let mut prio = 120;
        for event in events(rtmutex) {
            let Kind::Priority(Priority { target: LOW, old, new, released }) = event.kind() else {
                continue;
            };
            assert_eq!(old.0, prio, "at {}", event.time_ns);
            assert_eq!(released, new > old);
            prio = new.0;
            lent += u32::from(!released);
            assert!(prio == 120 || prio < 100, "{prio}");
        }
        assert!(lent > 100, "{lent}");
    }
}
