//! Other work came first in the same softirq.

use super::Rule;
use crate::piece::{Activity, Phase, Piece};
use tardy_model::{Cause, Culprit};

/// Softirq begins → this callback, spent in other vectors or other timers. Interrupts that break
/// into it are left to their own cause.
pub(super) struct SoftirqWork;

impl Rule for SoftirqWork {
    fn cause(&self) -> Cause {
        Cause("softirq_work")
    }

    fn meaning(&self) -> &'static str {
        "other work came first in the same softirq"
    }

    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let broken_into = matches!(piece.activity, Activity::Irq(_) | Activity::Unknown);
        (piece.phase == Phase::SoftirqRun && !broken_into).then(|| piece.activity.culprit())
    }
}
