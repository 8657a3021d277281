//! The softirq that runs the timer had to wait for its turn.

use super::{Rule, Weight};
use crate::piece::{Phase, Piece};
use tardy_model::{Cause, Culprit};

/// Softirq raised → its thread or context begins. The culprit is what ran instead.
pub(super) struct SoftirqWait;

impl Rule for SoftirqWait {
    fn cause(&self) -> Cause {
        Cause("softirq_wait")
    }

    fn meaning(&self) -> &'static str {
        "the softirq that runs the timer was raised and did not run yet"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::SoftirqWait]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        Some(piece.activity.culprit())
    }

    fn advice(&self, _: &Weight<'_>) -> Option<String> {
        Some(
            "the softirq thread runs too late: raise ktimers' (or ksoftirqd's) priority with chrt, \
             or give the thread a real-time policy, whose timers expire in hard interrupt context"
                .to_owned(),
        )
    }
}
