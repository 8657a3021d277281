//! A task ran on that should have been preempted.

use super::{Rule, Weight};
use crate::piece::{Activity, Phase, Piece};
use tardy_model::{Cause, Culprit};

/// Runnable → runs, time of a task of lower priority: it could not be preempted where it was. The
/// scheduler's own work for the switch is in it.
pub(super) struct NotPreemptible;

impl Rule for NotPreemptible {
    fn cause(&self) -> Cause {
        Cause("not_preemptible")
    }

    fn meaning(&self) -> &'static str {
        "a task of lower priority ran on, in a stretch where it could not be preempted"
    }

    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        match (piece.phase, piece.activity) {
            // Of a priority that is not known yet nothing can be said.
            (Phase::Runnable, Activity::Task(task, prio)) => {
                (prio.is_known() && piece.case.prio.is_known()).then_some(Culprit::Task(task))
            }
            _ => None,
        }
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<String> {
        (weight.mean_ns >= 10_000).then(|| {
            "the kernel does not preempt here: boot with preempt=full, or use a PREEMPT_RT kernel"
                .to_owned()
        })
    }
}
