//! Threads that arm, move and cancel timers while others do, and a level's thread that fires them.

use super::due::{Due, Fire, Rest};
use super::free::Free;
use super::heap::Heap;
use super::lane::{Lane, Refused, Wake};
use super::run::{Host, run};
use super::slots::{Key, Label};
use crate::Expiry;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;

/// Schedules tried in each test, of either kind; all of them take some seconds.
const SCHEDULES: usize = 800;

/// In how many places a schedule lets a thread of lower priority go first.
const SWITCHES: usize = 4;

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
            let mut due = Due::new(slots, Heap::with_capacity(slots), Heap::with_capacity(slots));
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
    shuttle::Runner::new(PctScheduler::new(SWITCHES, SCHEDULES), config).run(story);
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
            let mover = scene.go(move |scene| scene.rearm(key, Expiry::at(100)));
            scene.now_is(50);
            let moved = mover.join().unwrap();
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

#[test]
fn a_slot_that_another_thread_is_still_listing_is_told_of_in_time() {
    explore(|| {
        let (next, fired) = Scene::play(1, |scene| {
            let key = scene.arm(2, Expiry::at(50)).unwrap();
            let mover = scene.go(move |scene| scene.rearm(key, Expiry::at(40)));
            let next = scene.go(move |scene| {
                scene.cancel(key);
                scene.arm(4, Expiry::at(30)).is_ok()
            });
            mover.join().unwrap();
            let next = next.join().unwrap();
            scene.now_is(30);
            scene.wait_for(usize::from(next));
            next
        });
        assert_eq!(ids(&fired), if next { vec![4] } else { vec![] });
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
