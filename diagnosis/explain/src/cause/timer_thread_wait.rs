//! The thread that runs the timer had to wait for its turn.

use super::{PRIORITY, Rule, Weight, above};
use crate::advice::Remedy;
use crate::piece::{Phase, Piece};
use tardy_followers::Activity;
use tardy_model::event::Taken;
use tardy_model::{Cause, Culprit, TaskId};

/// A thread that the kernel has for timers woken → it begins; and later, up to the waking, whenever it does not
/// have the CPU. The culprit is what ran instead.
pub(super) struct TimerThreadWait;

impl Rule for TimerThreadWait {
    fn cause(&self) -> Cause {
        Cause("timer_thread_wait")
    }

    fn meaning(&self) -> &'static str {
        "the thread that runs the timer was woken and did not run yet"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::DeferredWait, Phase::DeferredRun, Phase::Callback]
    }

    fn stacks(&self) -> &'static [Taken] {
        &[Taken::Left]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let thread = piece.case.timer_thread;
        if thread == TaskId::IDLE {
            return None;
        }
        let waits = match *piece.activity {
            Activity::Idle(_) | Activity::Awake(_) | Activity::Polling(_) => true,
            activity => match activity.thread() {
                Some((task, _)) => task != thread && task != piece.case.task,
                None => piece.phase == Phase::DeferredWait,
            },
        };
        waits.then(|| piece.activity.culprit())
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let first = weight.first()?;
        let is_task = matches!(first.group.kind, "task" | "kernel_task");
        let prio = match weight.highest_prio() {
            Some(prio) if prio.is_realtime() => above(prio).unwrap_or(PRIORITY),
            _ => PRIORITY,
        };
        is_task.then(|| {
            Remedy::text(format!(
                "{} ran while the thread that runs the timer waited. Give that thread a priority \
                 above it (chrt -f -p {prio} of timer_level1/N to timer_level3/N), or give the \
                 victim a higher level; timers of real-time threads without a level expire in the \
                 interrupt.",
                first.group.words()
            ))
        })
    }
}
