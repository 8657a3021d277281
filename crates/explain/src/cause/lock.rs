//! The victim waited again before it was back.

use super::Rule;
use crate::piece::{Phase, Piece};
use tardy_model::{Cause, Culprit, TaskId};

/// Blocked → woken again, before the return to user space. The culprit is who ended the wait: for a
/// lock its holder.
pub(super) struct Lock;

impl Rule for Lock {
    fn cause(&self) -> Cause {
        Cause("lock")
    }

    fn meaning(&self) -> &'static str {
        "the thread had to wait again before it was back in user space"
    }

    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let holder = match piece.waker {
            TaskId::IDLE => Culprit::Nobody,
            waker => Culprit::Task(waker),
        };
        (piece.phase == Phase::Blocked).then_some(holder)
    }
}
