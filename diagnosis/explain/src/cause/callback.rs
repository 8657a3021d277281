//! The victim's own timer callback.

use super::Rule;
use crate::piece::{Doing, Phase, Piece};
use tardy_model::{Cause, Culprit, TaskId};

/// The expiry loop's work for this timer, and its callback, which sets the victim runnable; the rest
/// of the callback counts as well where the victim waits for it.
pub(super) struct Callback;

impl Rule for Callback {
    fn cause(&self) -> Cause {
        Cause("callback")
    }

    fn meaning(&self) -> &'static str {
        "the thread's own timer callback, which makes it runnable"
    }

    fn phases(&self) -> &'static [Phase] {
        Phase::ON_ITS_WAY
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Callback]
    }

    fn is_own(&self) -> bool {
        true
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        // No owner: this is about the function, not about who armed it.
        let own = piece.doing == Doing::Callback;
        own.then_some(Culprit::Timer(piece.case.timer, TaskId::IDLE))
    }
}
