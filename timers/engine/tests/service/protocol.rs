//! Threads that arm, move and cancel timers while others do, and a level's thread that fires them.

use super::due::{Due, Fire, Rest};
use super::free::Free;
use super::lane::{Lane, Refused, Wake};
use super::run::{Host, run};
use super::slots::{Key, Label};
use crate::Expiry;
use crate::queue::Precise;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;

/// Schedules tried in each test, of either kind; all of them take some seconds.
const SCHEDULES: usize = 500;

/// At how many steps, less one, a schedule of the second kind takes its turn from the thread that runs:
/// one for what a single untimely preemption breaks, more for the rest.
const DEPTHS: [usize; 2] = [2, 4];

/// A payload that nobody can copy or lose unnoticed.
#[derive(Debug)]
struct Id(u64, Arc<AtomicU64>);

impl Drop for Id {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A service of one level with a clock that is moved by hand.
struct Scene {
    lane: Lane<Id>,
    now_ns: AtomicU64,
    wakeups: Mutex<u32>,
    changed: Condvar,
    /// Which fired, when they should have, when they did.
    fired: Mutex<Vec<(u64, Expiry, u64)>>,
    all_fired: Condvar,
    /// How many payloads there are.
    payloads: Arc<AtomicU64>,
}

impl Scene {
    /// Runs `story` beside the level's thread, then stops that; gives what fired.
    fn play<R>(slots: usize, story: impl FnOnce(&Arc<Self>) -> R) -> (R, Vec<(u64, Expiry, u64)>) {
        Self::play_on(slots, |scene| {
            let told = story(scene);
            || told
        })
    }

    /// The same; what `story` gives is run after the end.
    fn play_on<R, E: FnOnce() -> R>(
        slots: usize,
        story: impl FnOnce(&Arc<Self>) -> E,
    ) -> (R, Vec<(u64, Expiry, u64)>) {
        let scene = Arc::new(Self {
            lane: Lane::new(slots),
            now_ns: AtomicU64::new(0),
            wakeups: Mutex::new(0),
            changed: Condvar::new(),
            fired: Mutex::new(Vec::new()),
            all_fired: Condvar::new(),
            payloads: Arc::new(AtomicU64::new(0)),
        });
        let level = scene.go(move |scene| {
            let mut due =
                Due::new(slots, Precise::with_capacity(slots), Precise::with_capacity(slots));
            run(&scene.lane, &mut due, &mut &*scene);
        });
        let epilogue = story(&scene);
        scene.lane.stop();
        scene.wake(Wake(true));
        level.join().unwrap();
        scene.lane.slots.cancel_all(drop);
        let told = epilogue();
        assert_eq!(scene.payloads.load(Ordering::SeqCst), 0, "a payload is left in a slot");
        let label = Label { tag: 0, coarse: false };
        let payload = || Id(0, Arc::new(AtomicU64::new(1)));
        let free = (0..=slots)
            .filter(|_| scene.lane.slots.arm(0, Expiry::at(0), label, payload()).is_ok());
        assert_eq!(free.count(), slots, "each slot is free, and once");
        let fired = std::mem::take(&mut *scene.fired.lock().unwrap());
        for (id, expiry, at_ns) in &fired {
            assert!(expiry.soft_ns() <= *at_ns, "{id} fired early: {expiry:?} at {at_ns}");
        }
        (told, fired)
    }

    fn go<R: Send + 'static>(
        self: &Arc<Self>,
        act: impl FnOnce(Arc<Self>) -> R + Send + 'static,
    ) -> thread::JoinHandle<R> {
        let scene = Arc::clone(self);
        thread::spawn(move || act(scene))
    }

    fn arm(&self, id: u64, expiry: Expiry) -> Result<Key, Refused<Id>> {
        let label = Label { tag: id, coarse: id % 2 == 1 };
        self.payloads.fetch_add(1, Ordering::SeqCst);
        let payload = Id(id, Arc::clone(&self.payloads));
        let (key, wake) = self.lane.arm(id as usize, expiry, label, payload)?;
        self.wake(wake);
        Ok(key)
    }

    /// Whether it was still armed.
    fn rearm(&self, key: Key, expiry: Expiry) -> bool {
        self.lane.rearm(key, expiry).map(|(wake, _)| self.wake(wake)).is_ok()
    }

    fn cancel(&self, key: Key) -> bool {
        self.lane.slots.cancel(key).is_ok()
    }

    fn wake(&self, wake: Wake) {
        if wake.0 {
            *self.wakeups.lock().unwrap() += 1;
            self.changed.notify_all();
        }
    }

    fn now_is(&self, now_ns: u64) {
        let wakeups = self.wakeups.lock().unwrap();
        self.now_ns.store(now_ns, Ordering::SeqCst);
        drop(wakeups);
        self.changed.notify_all();
    }

    /// Hangs, which the scheduler reports, where a wakeup is lost.
    fn wait_for(&self, fired: usize) {
        let mut seen = self.fired.lock().unwrap();
        while seen.len() < fired {
            seen = self.all_fired.wait(seen).unwrap();
        }
    }
}

impl Host<Id> for &Scene {
    fn now_ns(&mut self) -> u64 {
        self.now_ns.load(Ordering::SeqCst)
    }

    fn wakeups(&mut self) -> u32 {
        *self.wakeups.lock().unwrap()
    }

    fn sleep(&mut self, before: u32, rest: Rest) {
        let mut wakeups = self.wakeups.lock().unwrap();
        while *wakeups == before && self.now_ns.load(Ordering::SeqCst) < rest.until_ns {
            wakeups = self.changed.wait(wakeups).unwrap();
        }
    }

    fn stay_awake(&mut self, _: Rest, _: &Lane<Id>) {}

    fn fire(&mut self, fire: Fire<Id>) {
        assert_eq!(fire.label.tag, fire.payload.0, "a label and a payload of different timers");
        let now_ns = self.now_ns();
        self.fired.lock().unwrap().push((fire.payload.0, fire.expiry, now_ns));
        self.all_fired.notify_all();
    }
}

/// Under schedules that choose anew at each step, and such as let a thread go on but in few places.
fn explore(story: impl Fn() + Send + Sync + Clone + 'static) {
    let mut config = shuttle::Config::new();
    // It says once that it takes all orderings for sequentially consistent.
    config.silence_warnings = true;
    let random = RandomScheduler::new(SCHEDULES);
    shuttle::Runner::new(random, config.clone()).run(story.clone());
    for depth in DEPTHS {
        let few = PctScheduler::new(depth, SCHEDULES);
        shuttle::Runner::new(few, config.clone()).run(story.clone());
    }
}

fn ids(fired: &[(u64, Expiry, u64)]) -> Vec<u64> {
    fired.iter().map(|fired| fired.0).collect()
}

#[test]
fn an_earlier_timer_wakes_the_thread() {
    explore(|| {
        let ((), fired) = Scene::play(4, |scene| {
            scene.arm(2, Expiry::at(100)).unwrap();
            let others = [4, 6].map(|id| scene.go(move |scene| scene.arm(id, Expiry::at(id))));
            for other in others {
                other.join().unwrap().unwrap();
            }
            scene.now_is(4);
            scene.wait_for(1);
            scene.now_is(6);
            scene.wait_for(2);
        });
        assert_eq!(ids(&fired), [4, 6]);
    });
}

#[test]
fn moved_to_earlier_wakes_the_thread_and_to_later_never_fires_early() {
    explore(|| {
        let ((), fired) = Scene::play(4, |scene| {
            let early = scene.arm(2, Expiry::at(100)).unwrap();
            let late = scene.arm(1, Expiry::at(50)).unwrap();
            let mover = scene.go(move |scene| {
                assert!(scene.rearm(early, Expiry::at(10)));
                assert!(scene.rearm(late, Expiry::at(200)));
            });
            mover.join().unwrap();
            scene.now_is(10);
            scene.wait_for(1);
            scene.now_is(200);
            scene.wait_for(2);
        });
        assert_eq!(ids(&fired), [2, 1]);
    });
}

#[test]
fn moved_to_later_at_the_moment_it_is_due() {
    explore(|| {
        let (moved, fired) = Scene::play(1, |scene| {
            let key = scene.arm(2, Expiry::at(50)).unwrap();
            let other = scene.go(move |scene| scene.rearm(key, Expiry::at(100)));
            scene.now_is(50);
            let moved = other.join().unwrap();
            scene.now_is(100);
            scene.wait_for(1);
            moved
        });
        let expiries: Vec<_> = fired.iter().map(|fired| fired.1.hard_ns()).collect();
        assert_eq!(expiries, [if moved { 100 } else { 50 }]);
    });
}

#[test]
fn cancelled_at_the_moment_it_is_due() {
    explore(|| {
        let (cancelled, fired) = Scene::play(1, |scene| {
            let key = scene.arm(2, Expiry::at(50)).unwrap();
            let revoker = scene.go(move |scene| scene.cancel(key));
            scene.now_is(50);
            let cancelled = revoker.join().unwrap();
            scene.wait_for(usize::from(!cancelled));
            cancelled
        });
        assert_eq!(fired.len(), usize::from(!cancelled));
    });
}

#[test]
fn one_handle_in_many_hands() {
    explore(|| {
        let (cancelled, fired) = Scene::play(1, |scene| {
            let key = scene.arm(2, Expiry::at(10)).unwrap();
            let movers = [(5, 0), (30, 7)].map(|(soft_ns, slack_ns)| {
                let expiry = Expiry::with_slack(soft_ns, slack_ns);
                scene.go(move |scene| scene.rearm(key, expiry))
            });
            let revoker = scene.go(move |scene| scene.cancel(key));
            let clock = scene.go(|scene| scene.now_is(20));
            // Finds a free slot, or not.
            let next = scene.go(|scene| scene.arm(4, Expiry::at(25)).is_ok());
            let _moved = movers.map(|mover| mover.join().unwrap());
            let cancelled = revoker.join().unwrap();
            clock.join().unwrap();
            let next = next.join().unwrap();
            scene.now_is(100);
            scene.wait_for(usize::from(!cancelled) + usize::from(next));
            assert!(!scene.rearm(key, Expiry::at(200)), "stale for ever");
            assert!(!scene.cancel(key));
            (cancelled, next)
        });
        let count = |id| ids(&fired).iter().filter(|fired| **fired == id).count();
        assert_eq!(count(2), usize::from(!cancelled.0), "fires exactly where it was not cancelled");
        assert_eq!(count(4), usize::from(cancelled.1));
    });
}

#[test]
fn a_slot_used_again_is_told_of_if_its_entry_is_too_late() {
    explore(|| {
        let ((), fired) = Scene::play(1, |scene| {
            let first = scene.arm(1, Expiry::at(100)).unwrap();
            let second = scene.go(move |scene| {
                assert!(scene.cancel(first));
                // Precise now, and earlier; then in time, but the entry is in the coarse queue.
                scene.arm(2, Expiry::at(50)).unwrap()
            });
            let second = second.join().unwrap();
            scene.now_is(50);
            scene.wait_for(1);
            assert!(!scene.cancel(second));
            scene.arm(4, Expiry::at(60)).unwrap();
            scene.now_is(60);
            scene.wait_for(2);
        });
        assert_eq!(ids(&fired), [2, 4]);
    });
}

/// A level's thread that hears whenever it is woken, and in between sleeps.
struct Hearer {
    lane: Lane<u64>,
    /// Wakeups, and whether there will be no more.
    woken: Mutex<(u32, bool)>,
    changed: Condvar,
}

impl Hearer {
    fn wake(&self, wake: Wake) {
        if wake.0 {
            self.woken.lock().unwrap().0 += 1;
            self.changed.notify_one();
        }
    }

    /// Until when it sleeps in the end.
    fn hear(&self, due: &mut Due<Precise<u32>, Precise<u32>>) -> Option<Rest> {
        let mut heard = 0;
        loop {
            let rest = due.rest(&self.lane, 0);
            let mut woken = self.woken.lock().unwrap();
            while *woken == (heard, false) {
                woken = self.changed.wait(woken).unwrap();
            }
            if *woken == (heard, true) {
                return rest;
            }
            heard = woken.0;
            drop(woken);
            self.lane.awake();
        }
    }
}

#[test]
fn a_slot_that_another_thread_is_still_listing_is_told_of_in_time() {
    explore(|| {
        let hearer = Arc::new(Hearer {
            lane: Lane::new(2),
            woken: Mutex::new((0, false)),
            changed: Condvar::new(),
        });
        let label = Label { tag: 0, coarse: false };
        let mut due = Due::new(2, Precise::with_capacity(2), Precise::with_capacity(2));
        let (key, _) = hearer.lane.arm(0, Expiry::at(50), label, 1).unwrap();
        // The one that moves finds that it need not wake the thread, the next one that it must.
        let _ = hearer.lane.arm(0, Expiry::at(35), label, 3).unwrap();
        let rest = Rest { until_ns: 35, precisely: true };
        assert_eq!(due.rest(&hearer.lane, 0), Some(rest));

        let [level, first, next] = [(); 3].map(|()| Arc::clone(&hearer));
        let level = thread::spawn(move || level.hear(&mut due));
        let first = thread::spawn(move || {
            let moved = first.lane.rearm(key, Expiry::at(40));
            let _ = moved.map(|(wake, _)| first.wake(wake));
        });
        let next = thread::spawn(move || {
            next.lane.slots.cancel(key).unwrap();
            let armed = next.lane.arm(0, Expiry::at(30), label, 2);
            armed.map(|(_, wake)| next.wake(wake)).is_ok()
        });
        first.join().unwrap();
        let armed = next.join().unwrap();
        hearer.woken.lock().unwrap().1 = true;
        hearer.changed.notify_one();
        let rest = level.join().unwrap().unwrap();
        assert!(!armed || rest.until_ns <= 30, "{rest:?}");
    });
}

#[test]
fn moved_while_it_is_looked_at() {
    explore(|| {
        let lane = Arc::new(Lane::new(1));
        let label = Label { tag: 0, coarse: false };
        let mut due = Due::new(1, Precise::with_capacity(1), Precise::with_capacity(1));
        let (key, _) = lane.arm(0, Expiry::at(50), label, ()).unwrap();
        due.hear(&lane, 0);
        let other = Arc::clone(&lane);
        let other = thread::spawn(move || other.rearm(key, Expiry::at(100)).is_ok());
        let fired = due.pop(&lane, 50);
        let moved = other.join().unwrap();
        assert_eq!(fired.is_none(), moved, "one of the two won");
        due.hear(&lane, 50);
        let fired = due.pop(&lane, 100);
        assert_eq!(fired.is_some(), moved, "and it fires later, if not then");
    });
}

#[test]
fn a_free_slot_is_taken_by_one() {
    explore(|| {
        // Three for each stack.
        let free = Arc::new(Free::new(24));
        let taken = Arc::new([0; 24].map(|_| AtomicU64::new(0)));
        let takers = [0, 0, 0].map(|near| {
            let (free, taken) = (Arc::clone(&free), Arc::clone(&taken));
            thread::spawn(move || {
                for slot in [free.take(near), free.take(near)].into_iter().flatten() {
                    assert_eq!(taken[slot as usize].swap(1, Ordering::SeqCst), 0, "{slot}");
                    taken[slot as usize].store(0, Ordering::SeqCst);
                    free.put(slot);
                }
            })
        });
        let _: [(); 3] = takers.map(|taker| taker.join().unwrap());
        let mut left: Vec<_> = (0..=24).map_while(|_| free.take(0)).collect();
        left.sort_unstable();
        assert_eq!(left, (0..24).collect::<Vec<u32>>());
    });
}

#[test]
fn none_is_lost_where_there_are_too_few_slots() {
    explore(|| {
        let (refused, fired) = Scene::play(2, |scene| {
            let clock = scene.go(|scene| scene.now_is(5));
            let all = [2, 3, 4, 6].map(|id| scene.go(move |scene| scene.arm(id, Expiry::at(id))));
            let refused: Vec<u64> = all
                .into_iter()
                .filter_map(|armed| match armed.join().unwrap() {
                    Ok(_) => None,
                    Err(Refused::Full(refused)) => Some(refused.0),
                    Err(Refused::Stopped(_)) => panic!("nobody stopped it"),
                })
                .collect();
            clock.join().unwrap();
            scene.now_is(10);
            scene.wait_for(4 - refused.len());
            refused
        });
        let mut all = [ids(&fired), refused].concat();
        all.sort_unstable();
        assert_eq!(all, [2, 3, 4, 6]);
    });
}

#[test]
fn arming_and_cancelling_in_a_loop_leaves_the_order_as_it_is() {
    explore(|| {
        let ((), fired) = Scene::play(3, |scene| {
            scene.arm(8, Expiry::at(40)).unwrap();
            let looper = scene.go(|scene| {
                for round in 0..3 {
                    let key = scene.arm(2, Expiry::at(30 - round)).unwrap();
                    assert!(scene.cancel(key));
                }
                scene.arm(6, Expiry::at(35)).unwrap();
            });
            looper.join().unwrap();
            scene.now_is(40);
            scene.wait_for(2);
        });
        assert_eq!(ids(&fired), [6, 8]);
    });
}

#[test]
fn who_arms_when_it_ends_leaves_nothing_behind() {
    explore(|| {
        let (refused, fired) = Scene::play_on(4, |scene| {
            let armers = [2, 3].map(|id| {
                scene.go(move |scene| match scene.arm(id, Expiry::at(id)) {
                    Ok(key) => {
                        scene.rearm(key, Expiry::at(id + 1));
                        None
                    }
                    Err(Refused::Stopped(refused)) => Some(refused.0),
                    Err(Refused::Full(_)) => panic!("there is room"),
                })
            });
            let clock = scene.go(|scene| scene.now_is(3));
            || {
                clock.join().unwrap();
                armers.map(|armer| armer.join().unwrap())
            }
        });
        // That each of the others was disarmed is what the count of payloads says.
        let all: Vec<_> = ids(&fired).into_iter().chain(refused.into_iter().flatten()).collect();
        for id in [2, 3] {
            assert!(all.iter().filter(|known| **known == id).count() <= 1, "{all:?}");
        }
    });
}
