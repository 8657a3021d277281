//! The measuring threads, as who started them holds them.

use super::cut::{Exchange, Part};
use super::live::Live;
use super::plan::{Ending, ThreadPlan};
use super::thread::Outcome;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a cut looks whether a thread has changed over: a share of the thread's interval.
const LOOKS_PER_INTERVAL: u64 = 10;
/// The same in time, at least and at most.
const LOOK_MIN_NS: u64 = 50_000;
const LOOK_MAX_NS: u64 = 10_000_000;

/// One of them.
pub(super) struct Member {
    pub(super) thread: ThreadPlan,
    pub(super) live: Arc<Live>,
    pub(super) exchange: Arc<Exchange>,
    /// Closed without a word, it sends the thread home.
    pub(super) start: Option<Sender<u64>>,
    pub(super) join: Option<JoinHandle<Option<Outcome>>>,
    /// What it brought home, once it has been waited for.
    pub(super) outcome: Option<Outcome>,
    /// All parts that have been cut off, as one.
    pub(super) cut: Option<Part>,
}

impl Member {
    /// The part that it has been asked for; what was left, where it has ended.
    pub(super) fn cut(&mut self) -> Part {
        let look_ns = self.thread.interval_ns / LOOKS_PER_INTERVAL;
        let look = Duration::from_nanos(look_ns.clamp(LOOK_MIN_NS, LOOK_MAX_NS));
        let part = loop {
            if let Some(part) = self.exchange.take() {
                break part;
            }
            if self.join.as_ref().is_none_or(JoinHandle::is_finished) {
                self.join();
                // It may have changed over just before its end.
                let changed = self.exchange.take();
                let _ = self.exchange.withdraw();
                let left =
                    || self.outcome.as_mut().map(|outcome| std::mem::take(&mut outcome.part));
                break changed.or_else(left).unwrap_or_default();
            }
            std::thread::sleep(look);
        };
        self.cut.get_or_insert_default().merge(&part);
        part
    }

    /// Waits for its end.
    pub(super) fn join(&mut self) {
        if let Some(join) = self.join.take() {
            self.outcome = join.join().ok().flatten();
        }
    }
}

/// The threads. Dropped, they are stopped and joined, so that none outlives its measurement.
pub(super) struct Crew {
    pub(super) members: Vec<Member>,
    pub(super) ending: Arc<Ending>,
    /// Closed when the last thread has ended; nothing is ever sent.
    pub(super) done: Receiver<()>,
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.ending.stop.store(true, Relaxed);
        for member in &mut self.members {
            member.start = None;
        }
        self.members.iter_mut().for_each(Member::join);
    }
}
