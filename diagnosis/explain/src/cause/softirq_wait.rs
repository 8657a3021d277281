//! The softirq that runs the timer had to wait for its turn.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Phase, Piece};
use tardy_followers::Activity;
use tardy_model::{Cause, Culprit};

/// Softirq raised → its thread or context begins; and later, up to the waking, whenever that thread does not have
/// the CPU: it was preempted, or waits for a lock. The culprit is what ran instead.
pub(super) struct SoftirqWait;

impl Rule for SoftirqWait {
    fn cause(&self) -> Cause {
        Cause("softirq_wait")
    }

    fn meaning(&self) -> &'static str {
        "the softirq that runs the timer was raised and did not run yet"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::SoftirqWait, Phase::SoftirqRun, Phase::Callback]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let runs_instead = match *piece.activity {
            Activity::Task(task, _) => task != piece.case.task,
            Activity::Idle(_) | Activity::Awake(_) | Activity::Polling(_) => true,
            _ => false,
        };
        (piece.phase == Phase::SoftirqWait || runs_instead).then(|| piece.activity.culprit())
    }

    fn advice(&self, _: &Weight<'_>) -> Option<Remedy> {
        let command = "for id in $(pgrep '^(ktimers|ksoftirqd)/'); do chrt -f -p 50 $id; done";
        Some(
            Remedy::text(
                "The softirq that runs the timer came too late. Where threads run softirqs (PREEMPT_RT, ksoftirqd), \
                 give them a real-time priority; timers of real-time threads' own sleeps need no softirq.",
            )
            .with(Some(command.to_owned()))
            .by(["prio(ktimers/*)=fifo:50", "prio(ksoftirqd/*)=fifo:50"]),
        )
    }
}
