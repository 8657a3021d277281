//! Others ran that may run first.

use super::{Rule, Weight};
use crate::piece::{Activity, Phase, Piece};
use tardy_model::{Cause, Culprit};

/// Runnable → runs, time of tasks that may run first: a higher priority, the same one, or any of the
/// fair class where the victim is of it too.
pub(super) struct HigherPriority;

impl Rule for HigherPriority {
    fn cause(&self) -> Cause {
        Cause("higher_priority")
    }

    fn meaning(&self) -> &'static str {
        "tasks ran that may run first"
    }

    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        match (piece.phase, piece.activity) {
            (Phase::Runnable, Activity::Task(task, prio)) => {
                let known = prio.is_known() && piece.case.prio.is_known();
                (known && prio.may_run_before(piece.case.prio)).then_some(Culprit::Task(task))
            }
            _ => None,
        }
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<String> {
        let first = weight.culprits.first()?;
        Some(format!(
            "{} runs first: raise the thread's priority above it, or bind one of them elsewhere",
            first.name
        ))
    }
}
