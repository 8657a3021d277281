//! The thread of a level.

use super::delivery::{Delivery, Firing};
use super::due::{Due, Fire, Rest};
use super::lane::Lane;
use super::queues;
use super::request::Timer;
use super::run::{Host, run};
use super::shared::{Desk, Shared};
use super::tail::Tail;
use super::watch::{Slow, add_one};
use crate::Level;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Fires the timers of a level in the calling thread until it is stopped.
pub(super) fn fire_all(shared: &Shared, level: Level, spin_max_ns: u64) {
    let desk = shared.desk(level);
    let slots = desk.lane.slots.len();
    let (precise, coarse) = queues::new(slots);
    let mut due = Due::new(slots, precise, coarse);
    let mut host = Live { shared, desk, level, tail: Tail::new(spin_max_ns), spin_max_ns };
    run(&desk.lane, &mut due, &mut host);
}

/// A level of a live process.
struct Live<'a> {
    shared: &'a Shared,
    desk: &'a Desk,
    level: Level,
    tail: Tail,
    spin_max_ns: u64,
}

impl Host<Delivery> for Live<'_> {
    fn now_ns(&mut self) -> u64 {
        self.shared.clock.now_ns()
    }

    fn wakeups(&mut self) -> u32 {
        self.desk.park.wakeups()
    }

    fn sleep(&mut self, wakeups: u32, rest: Rest) {
        let tail_ns = if rest.precisely { self.tail.ns() } else { 0 };
        let asked_ns = match rest.until_ns {
            u64::MAX => u64::MAX,
            until_ns => until_ns.saturating_sub(tail_ns),
        };
        if asked_ns <= self.now_ns() {
            return;
        }
        self.desk.park.sleep(wakeups, asked_ns);
        let now_ns = self.now_ns();
        if now_ns >= asked_ns {
            self.tail.learn(now_ns - asked_ns);
        }
    }

    fn stay_awake(&mut self, rest: Rest, lane: &Lane<Delivery>) {
        if !rest.precisely {
            return;
        }
        // Not longer than the bound: the thread may have been woken well before the time.
        let spins = |now_ns| now_ns < rest.until_ns && rest.until_ns - now_ns <= self.spin_max_ns;
        while spins(self.shared.clock.now_ns()) && !lane.has_news() && !lane.is_stopped() {
            std::hint::spin_loop();
        }
    }

    fn fire(&mut self, fire: Fire<Delivery>) {
        let watch = &self.desk.watch;
        let tag = fire.label.tag;
        let timer = self.shared.timer(self.level, fire.key);
        let now_ns = self.shared.clock.now_ns();
        let firing = Firing { timer, tag, expiry: fire.expiry, level: self.level, now_ns };
        watch.begins(now_ns, tag);
        match guarded(|| fire.payload.fire(&firing)) {
            Some(Ok(())) => {}
            Some(Err(_)) => add_one(&watch.undelivered),
            None => add_one(&watch.panicked),
        }
        let ns = self.shared.clock.now_ns().saturating_sub(now_ns);
        watch.ended(ns, tag);
        if ns > self.shared.slow_ns {
            add_one(&watch.slow);
            if let Some(hook) = &self.shared.on_slow {
                let slow = Slow { level: self.level, tag, timer, ns };
                if guarded(|| hook(&slow)).is_none() {
                    add_one(&watch.panicked);
                }
            }
        }
    }
}

/// `None` where it panicked. Nothing of the service's is borrowed mutably meanwhile, so nothing is
/// left half-done.
pub(super) fn guarded<R>(foreign: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(foreign)) {
        Ok(told) => Some(told),
        Err(panic) => {
            // What it carries may panic when it is dropped.
            if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
                std::mem::forget(again);
            }
            None
        }
    }
}

impl Shared {
    fn timer(&self, level: Level, key: super::slots::Key) -> Timer {
        Timer { service: self.number, slot: key.slot, generation: key.generation, level }
    }
}
