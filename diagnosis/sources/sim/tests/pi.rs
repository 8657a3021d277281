//! Locks with priority inheritance: who lends whom a priority, how often, and what it costs, in the old kernel
//! and in the new one.
#![allow(missing_docs)]

use tardy_explain::{Explainer, Named, Options, Sink};
use tardy_model::event::{Call, Priority, futex};
use tardy_model::{Batch, Event, Kind, Source, TaskId, WakeupKind};
use tardy_sim::file::{File, Template, Values, known_system};
use tardy_sim::{Observer, START_NS, Simulated, Simulation, ThreadAt};

const HIGH: TaskId = TaskId(1000);
const LOW: TaskId = TaskId(1002);
const SPAN_NS: u64 = 4_000_000_000;

/// The system in an old kernel or a new one.
fn file(rtmutex: &str) -> File {
    let known = known_system("pi-spike").expect("it comes with the program");
    let template = Template::parse(known.text).expect("it can be");
    let condition = template.conditions.iter().find(|one| one.name == rtmutex);
    template.file(condition.expect("it has it"), &Values::new()).expect("it can be")
}

fn events(rtmutex: &str) -> Vec<Event> {
    let file = file(rtmutex);
    let mut source = Simulated::new(&file.system, SPAN_NS, ()).expect("it can be");
    let (mut events, mut batch) = (Vec::new(), Batch::default());
    while source.next_batch(&mut batch).expect("it goes on") {
        events.append(&mut batch.events);
        batch.clear();
    }
    events
}

/// High's calls for the lock in which it lent Low its priority.
struct Calls {
    /// How long those took in which it did so once.
    once: Vec<u64>,
    /// And those in which it had to once more, because Low, put back to its own, still was in the call in which it had
    /// given the lock up.
    twice: Vec<u64>,
}

impl Calls {
    fn of(events: &[Event]) -> Self {
        let mut calls = Self { once: Vec::new(), twice: Vec::new() };
        let mut open: Option<(u64, bool, bool)> = None;
        let (mut unlocks, mut put_back) = (false, false);
        for event in events {
            match (event.task, event.kind()) {
                (HIGH, Kind::SyscallEnter(call)) if call.op == futex::LOCK_PI => {
                    open = (call.call == Call::Futex).then_some((event.time_ns, false, false));
                }
                (HIGH, Kind::SyscallExit(_)) => {
                    if let Some((since_ns, true, again)) = open.take() {
                        let of_its_kind = if again { &mut calls.twice } else { &mut calls.once };
                        of_its_kind.push(event.time_ns - since_ns);
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
                        let again = unlocks && put_back;
                        open = open.map(|(since_ns, _, was)| (since_ns, true, was || again));
                    }
                }
                _ => {}
            }
        }
        calls.once.sort_unstable();
        calls.twice.sort_unstable();
        calls
    }
}

fn median(sorted: &[u64]) -> u64 {
    sorted[sorted.len() / 2]
}

/// The mail's 20 to 30 µs where the lock is not free; and the longest call of all is one in which Low is boosted twice.
/// None is in the new kernel.
#[test]
fn the_old_kernel_boosts_twice_and_the_new_one_does_not() {
    let (old, new) = (Calls::of(&events("old")), Calls::of(&events("new")));
    assert!(old.once.len() > 1_000 && new.once.len() > 1_000, "there are calls that wait");
    assert!(old.twice.len() > 10, "{} calls", old.twice.len());
    assert!(new.twice.is_empty(), "{} calls", new.twice.len());
    let usual = median(&old.once);
    assert!((20_000..30_000).contains(&usual), "{usual}");
    let largest = [old.once.last(), old.twice.last(), new.once.last()];
    assert!(largest[1] > largest[0] && largest[1] > largest[2], "{largest:?}");
}

/// What of them is measured is what the events tell, with those that find the lock free.
#[test]
fn a_lock_is_measured_until_it_is_there() {
    struct Seen(Vec<u64>);
    impl Observer for Seen {
        const EVENTS: bool = false;
        const STATES: bool = false;
        fn late(&mut self, _: u64, thread: ThreadAt, ns: u64) {
            // The first thread.
            if thread == 0 {
                self.0.push(ns);
            }
        }
    }
    let file = file("old");
    let mut simulation = Simulation::new(&file.system, Seen(Vec::new())).expect("it can be");
    simulation.run_until(START_NS + 1_000_000_000);
    let double_boosts = simulation.double_boosts();
    let seen = simulation.into_observer().0;
    let waited = seen.iter().filter(|ns| **ns > 0).count();
    assert!(waited > 1_000 && waited < seen.len(), "{waited} of {}", seen.len());
    assert!(double_boosts > 0 && seen.iter().all(|ns| *ns < 1_000_000), "{double_boosts}");
}

/// Counts the calls for a lock that are explained, and in how many of them somebody was boosted twice.
#[derive(Default)]
struct Explained(u32, u32);

impl Sink for Explained {
    fn wakeup(&mut self, named: &Named<'_>) {
        let wakeup = named.wakeup();
        let lent = wakeup.boosts.iter().filter(|boost| !boost.released && boost.target == LOW);
        self.0 += u32::from(wakeup.kind == WakeupKind::Lock);
        self.1 += u32::from(wakeup.kind == WakeupKind::Lock && lent.count() >= 2);
    }
}

#[test]
fn the_explainer_tells_of_the_calls() {
    let file = file("old");
    let mut source = Simulated::new(&file.system, SPAN_NS, ()).expect("it can be");
    let mut explainer = Explainer::new(Options::default(), Explained::default());
    let mut batch = Batch::default();
    while source.next_batch(&mut batch).expect("it goes on") {
        explainer.batch(&batch);
        batch.clear();
    }
    let (_, Explained(calls, twice)) = explainer.finish();
    assert!(calls > 100 && twice > 0, "{twice} of {calls}");
}

/// Whoever lends a priority gets it back, and nobody keeps one.
#[test]
fn what_is_lent_is_given_back() {
    for rtmutex in ["old", "new"] {
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
