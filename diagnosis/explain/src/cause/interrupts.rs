//! Interrupts and softirqs took the CPU.

use super::Rule;
use crate::piece::{Doing, Phase, Piece};
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

    fn phases(&self) -> &'static [Phase] {
        &[
            Phase::Interrupt,
            Phase::SoftirqRun,
            Phase::Callback,
            Phase::Placing,
            Phase::Runnable,
            Phase::Running,
            Phase::Faulting,
        ]
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Interrupt, Doing::Expiry]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        piece.activity.is_interrupt().then(|| piece.activity.culprit())
    }
}
