//! The victim waited again before it was back.

use super::Rule;
use crate::piece::{Phase, Piece};
use tardy_model::event::Taken;
use tardy_model::{Cause, Culprit};

/// Blocked → woken again, before the return to user space. The culprit is the holder of what it waits
/// for: whoever it lent its priority to, else who ended the wait; while the holder could not run, who
/// ran in its place; while the holder waited itself, the one it waited for.
pub(super) struct Lock;

impl Rule for Lock {
    fn cause(&self) -> Cause {
        Cause("lock")
    }

    fn meaning(&self) -> &'static str {
        "the thread had to wait again, mostly for a lock, before its call returned"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Blocked]
    }

    fn stacks(&self) -> &'static [Taken] {
        &[Taken::Left, Taken::Slept]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        Some(piece.held_by)
    }
}
