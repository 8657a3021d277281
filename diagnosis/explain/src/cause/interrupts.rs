//! Interrupts and softirqs took the CPU.

use super::Rule;
use crate::piece::{Activity, Phase, Piece};
use tardy_model::{Cause, Culprit};

/// Interrupt and softirq time after the timer interrupt's entry: its own way in and out, and
/// whatever else broke in.
pub(super) struct Interrupts;

impl Rule for Interrupts {
    fn cause(&self) -> Cause {
        Cause("interrupts")
    }

    fn meaning(&self) -> &'static str {
        "interrupt and softirq time, the timer interrupt's own included"
    }

    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let interrupt = matches!(
            piece.activity,
            Activity::Irq(_) | Activity::Softirq(_) | Activity::Expiry(..)
        );
        let here = piece.phase != Phase::Pending && !piece.phase.is_blocked();
        (here && interrupt).then(|| piece.activity.culprit())
    }
}
