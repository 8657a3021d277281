//! Other timers came first in the thread that runs the timer.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Phase, Piece};
use tardy_followers::Activity;
use tardy_model::{Cause, Culprit, TaskId};

/// A thread that the kernel has for timers runs, and has not come to this one yet: other timers of the same level,
/// or of the same order, and its own way to them.
pub(super) struct TimerThreadWork;

impl Rule for TimerThreadWork {
    fn cause(&self) -> Cause {
        Cause("timer_thread_work")
    }

    fn meaning(&self) -> &'static str {
        "the thread that runs the timer ran others first, or was on its way"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::DeferredWait, Phase::DeferredRun, Phase::Callback]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let thread = piece.case.timer_thread;
        let (task, _) = piece.activity.thread()?;
        if thread == TaskId::IDLE || task != thread {
            return None;
        }
        match *piece.activity {
            // The thread is the same for all of its timers: which one came first is what says more.
            Activity::ThreadedExpiry(_, timer, ..) => Some(Culprit::Timer(timer, TaskId::IDLE)),
            activity => Some(activity.culprit()),
        }
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let first = weight.first().filter(|first| first.group.kind == "timer")?;
        let text = format!(
            "{} come before the timer in the thread that runs both. Another level for one of them \
             keeps them apart.",
            first.group.words()
        );
        Some(Remedy::text(text).against(first))
    }
}
