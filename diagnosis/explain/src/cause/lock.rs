//! The victim waited again before it was back.

use super::{Rule, Weight};
use crate::advice::Remedy;
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

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let who = weight.first()?.group.words();
        weight.is_of_plain_locks().then(|| {
            Remedy::text(format!(
                "{who} ran most while {} waited for a lock. If others keep its holder from \
                 running, let the lock lend it the priority of the waiting thread, in the \
                 program: pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT); \
                 pthread_mutex_init(&mutex, &attr). Otherwise hold it for a shorter time.",
                weight.victims()
            ))
        })
    }
}
