//! What a level has fired, and how long that took.

use super::request::Timer;
use crate::Level;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A callback that took longer than the service's bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slow {
    /// At which level.
    pub level: Level,
    /// Whose: the timer's tag.
    pub tag: u64,
    /// The timer.
    pub timer: Timer,
    /// How long, ns.
    pub ns: u64,
}

/// Told of slow callbacks.
pub(super) type SlowHook = Box<dyn Fn(&Slow) + Send + Sync>;

/// What a level has done since the service began. Each number is right; they are not read at the same
/// instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Report {
    /// Timers fired, counted before what they do begins: who sees its effect sees it counted.
    pub fired: u64,
    /// Timers refused because there was no room.
    pub refused: u64,
    /// Callbacks longer than the bound.
    pub slow: u64,
    /// The longest of all callbacks, ns, and its timer's tag.
    pub longest: Option<(u64, u64)>,
    /// Callbacks that panicked.
    pub panicked: u64,
    /// Timers whose eventfd could not be written to.
    pub undelivered: u64,
    /// Since when a callback has been running, ns, and its timer's tag. Here one sees those that never
    /// return.
    pub running: Option<(u64, u64)>,
    /// How often somebody woke the level's thread, with a system call.
    pub woken: u64,
}

/// The numbers of a [`Report`], written by the level's thread except where it says otherwise.
#[derive(Default)]
pub(super) struct Watch {
    pub(super) fired: AtomicU64,
    /// Written by those who arm.
    pub(super) refused: AtomicU64,
    pub(super) slow: AtomicU64,
    pub(super) panicked: AtomicU64,
    pub(super) undelivered: AtomicU64,
    /// Written by those who arm.
    pub(super) woken: AtomicU64,
    longest: Pair,
    running: Pair,
}

impl Watch {
    pub(super) fn begins(&self, now_ns: u64, tag: u64) {
        add_one(&self.fired);
        self.running.set(now_ns, tag);
    }

    /// A callback has ended that took `ns`.
    pub(super) fn ended(&self, ns: u64, tag: u64) {
        self.running.set(0, 0);
        if ns > self.longest.first.load(Ordering::Relaxed) {
            self.longest.set(ns, tag);
        }
    }

    pub(super) fn report(&self) -> Report {
        Report {
            fired: self.fired.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            slow: self.slow.load(Ordering::Relaxed),
            longest: self.longest.get(),
            panicked: self.panicked.load(Ordering::Relaxed),
            undelivered: self.undelivered.load(Ordering::Relaxed),
            running: self.running.get(),
            woken: self.woken.load(Ordering::Relaxed),
        }
    }
}

pub(super) fn add_one(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// Two numbers that belong together, written by one thread, which never waits.
#[derive(Default)]
struct Pair {
    /// Odd while they are being written.
    version: AtomicU64,
    first: AtomicU64,
    second: AtomicU64,
}

impl Pair {
    fn set(&self, first: u64, second: u64) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        self.first.store(first, Ordering::Relaxed);
        self.second.store(second, Ordering::Relaxed);
        self.version.store(version + 2, Ordering::Release);
    }

    /// `None` where the first is 0.
    fn get(&self) -> Option<(u64, u64)> {
        loop {
            let version = self.version.load(Ordering::Acquire);
            let pair = (self.first.load(Ordering::Relaxed), self.second.load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            if version.is_multiple_of(2) && version == self.version.load(Ordering::Relaxed) {
                return (pair.0 != 0).then_some(pair);
            }
            // The writer is between two stores; it may have been preempted there by this thread.
            std::thread::yield_now();
        }
    }
}
