//! What a CPU is in, above its task: an interrupt, a softirq, a callback.

use super::expiry::Expiry;
use crate::activity::{Activity, RunBy};
use tardy_model::{Prio, TaskId};

/// A context above the task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub(super) activity: Activity,
    pub(super) begin_ns: u64,
    /// For a callback: how it came to run.
    pub(super) expiry: Option<Expiry>,
    /// For a softirq: its raise.
    pub(super) raise: Option<Raise>,
    /// The last event in it.
    pub(super) last_ns: u64,
    /// For an interrupt or softirq: a callback has ended in it, so what follows up to the next
    /// callback is the expiry loop's work for that one.
    pub(super) after_callback: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Raise {
    pub(super) time_ns: u64,
    /// The expiry of the timer whose callback raised it: of the timer wheel's softirq, the tick's.
    pub(super) tick_ns: Option<u64>,
    /// The entry of the interrupt in which it was raised.
    pub(super) interrupt_ns: Option<u64>,
}

impl Context {
    /// One that begins, and of which no more is known.
    pub(super) const fn of(activity: Activity, begin_ns: u64) -> Self {
        let (expiry, raise, after_callback, last_ns) = (None, None, false, begin_ns);
        Self { activity, begin_ns, expiry, raise, last_ns, after_callback }
    }

    /// Whether it is kept for its thread where that is left.
    pub(super) const fn stays(&self) -> bool {
        self.is_softirq() || self.is_of_timer_thread()
    }

    pub(super) const fn is_softirq(&self) -> bool {
        matches!(self.activity, Activity::Softirq(_) | Activity::ThreadedSoftirq(..))
    }

    pub(super) const fn is_of_timer_thread(&self) -> bool {
        matches!(self.activity, Activity::ThreadedExpiry(RunBy::TimerThread, ..))
    }

    /// Whether it is a hard interrupt's.
    pub(super) const fn is_interrupt(&self) -> bool {
        matches!(self.activity, Activity::Irq(_) | Activity::Ipi(..))
    }

    /// A softirq, or a callback in it, turns out to run in a thread; or that has another priority now.
    pub(super) fn runs_in(&mut self, thread: TaskId, is: Prio) {
        match self.activity {
            Activity::Softirq(vector) => {
                self.activity = Activity::ThreadedSoftirq(vector as u8, thread, is);
            }
            Activity::Expiry(timer, _, callback) | Activity::SoftExpiry(timer, _, callback) => {
                let of_wheel = self.expiry.is_some_and(|expiry| expiry.of_wheel);
                let run_by = if of_wheel { RunBy::TimerSoftirq } else { RunBy::HrtimerSoftirq };
                self.activity = Activity::ThreadedExpiry(run_by, timer, callback, thread, is);
            }
            Activity::ThreadedSoftirq(.., ref mut prio)
            | Activity::ThreadedExpiry(.., ref mut prio) => *prio = is,
            _ => {}
        }
    }
}
