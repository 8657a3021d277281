//! What no events tell of: ends of contexts, softirqs in threads, interrupts that break into softirqs.

use super::{Context, Cpu};
use crate::activity::Activity;
use crate::visible::Visible;
use tardy_model::TaskId;

/// A context of a kind whose ends are not recorded lasts no longer than this after the last event in it.
const UNENDED_NS_MAX: u64 = 50_000;

/// When a thread ran softirqs whose events are not recorded.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    last: Option<Round>,
    /// When its thread was done with them last.
    pub(super) done_ns: u64,
}

/// A thread runs them: since when, after having been asked to.
#[derive(Clone, Copy, Debug)]
struct Round {
    thread: TaskId,
    asked_ns: u64,
    begin_ns: u64,
}

impl Cpu {
    /// An event comes: a context whose ends are not recorded, and of which nothing was told for a while, has ended
    /// when something was told of it last.
    #[inline]
    pub(crate) fn outlives(&mut self, time_ns: u64, visible: &Visible) {
        if let Some(top) = self.contexts.last_mut() {
            if time_ns.saturating_sub(top.last_ns) <= UNENDED_NS_MAX {
                top.last_ns = time_ns;
                return;
            }
            self.ends_unseen(time_ns, visible);
        }
    }

    #[inline(never)]
    fn ends_unseen(&mut self, time_ns: u64, visible: &Visible) {
        while let Some(top) = self.contexts.last_mut() {
            if time_ns.saturating_sub(top.last_ns) <= UNENDED_NS_MAX || visible.ends(top.activity) {
                top.last_ns = time_ns;
                return;
            }
            let last_ns = top.last_ns;
            self.contexts.pop();
            self.note(last_ns);
        }
    }

    /// When a thread first had the CPU since a time.
    pub(super) fn ran_since(&mut self, ns: u64, thread: TaskId) -> Option<u64> {
        // All timers of one interrupt ask the same.
        if let Some(round) = self.rounds.last
            && round.thread == thread
            && (round.asked_ns..=round.begin_ns).contains(&ns)
        {
            return Some(round.begin_ns);
        }
        let mut begin_ns = None;
        self.history.between(ns, self.last_ns.saturating_add(1), |start_ns, _, activity| {
            if activity.thread().is_some_and(|(task, _)| task == thread) {
                begin_ns.get_or_insert(start_ns);
            }
        });
        let begin_ns = begin_ns?;
        self.rounds.last = Some(Round { thread, asked_ns: ns, begin_ns });
        Some(begin_ns)
    }

    /// A thread goes to sleep: if it runs softirqs whose events are not recorded, it is done with them.
    #[inline]
    pub(crate) fn sleeps(&mut self, time_ns: u64, thread: TaskId) {
        if self.rounds.last.is_some_and(|round| round.thread == thread) {
            self.rounds.done_ns = time_ns;
        }
    }
}

impl Context {
    /// Whether it is a softirq's, of another vector.
    pub(super) const fn runs_softirq_but(&self, vector: u32) -> bool {
        match self.activity {
            Activity::Softirq(other) => other != vector,
            Activity::ThreadedSoftirq(other, ..) => other as u32 != vector,
            _ => false,
        }
    }
}
