//! The measuring threads, as who started them holds them.

use super::cut::{Exchange, Part};
use super::live::Live;
use super::plan::{Ending, ThreadPlan};
use super::thread::Outcome;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
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
    /// What it has measured, once it is done. It stays until it is let go: a thread's own end takes longer than many a
    /// latency, and who is below it on its CPU would measure that.
    pub(super) home: Receiver<Outcome>,
    pub(super) let_go: Option<Sender<()>>,
    pub(super) join: Option<JoinHandle<()>>,
    /// What it brought home, once it has been asked for.
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
            if self.is_done() {
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

    /// Whether it has measured all that it will.
    fn is_done(&mut self) -> bool {
        if self.outcome.is_some() || self.join.is_none() {
            return true;
        }
        match self.home.try_recv() {
            Ok(outcome) => self.outcome = Some(outcome),
            Err(TryRecvError::Empty) => return false,
            Err(TryRecvError::Disconnected) => {}
        }
        true
    }

    /// Waits until it is done, and for its end.
    pub(super) fn join(&mut self) {
        if let Some(join) = self.join.take() {
            self.outcome = self.outcome.take().or_else(|| self.home.recv().ok());
            self.let_go = None;
            // Where it ended otherwise there is no outcome.
            let _ = join.join();
        }
    }
}

/// The threads. Dropped, they are stopped and joined, so that none outlives its measurement.
pub(super) struct Crew {
    pub(super) members: Vec<Member>,
    pub(super) ending: Arc<Ending>,
    /// Closed when the last thread is done; nothing is ever sent.
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
