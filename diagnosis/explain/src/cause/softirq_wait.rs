//! The softirq that runs the timer had to wait for its turn.

use super::{Rule, Weight};
use crate::advice::Remedy;
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

    fn advice(&self, _: &Weight<'_>) -> Option<Remedy> {
        let command = "for id in $(pgrep '^(ktimers|ksoftirqd)/'); do chrt -f -p 50 $id; done";
        Some(
            Remedy::text(
                "The softirq thread runs too late. Give it a real-time priority, or the late thread itself, \
                 whose timers then expire in the interrupt.",
            )
            .with(Some(command.to_owned())),
        )
    }
}
