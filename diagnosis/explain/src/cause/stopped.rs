//! The victim was stopped.

use super::Rule;
use crate::piece::{Phase, Piece};
use tardy_model::{Cause, Culprit};

/// Stopped by a signal, a tracer or a debugger → made to go on, before the victim is back from what it does. The
/// culprit is who makes it go on. Where a story ends when the victim runs, a stop is in none: it is a wait.
pub(super) struct Stopped;

impl Rule for Stopped {
    fn cause(&self) -> Cause {
        Cause("stopped")
    }

    fn meaning(&self) -> &'static str {
        "the thread was stopped, by a signal, a tracer or a debugger"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Stopped]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        Some(piece.held_by)
    }
}
