//! The victim's own timer callback.

use super::Rule;
use crate::piece::{Activity, Piece};
use tardy_model::{Cause, Culprit, TaskId, TimerId};

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

    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let timer = piece.case.timer;
        let own = matches!(piece.activity, Activity::Expiry(id, _) if id == timer)
            && timer != TimerId::UNKNOWN;
        let here = own && !piece.phase.is_blocked();
        // No owner: this is about the function, not about who armed it.
        here.then_some(Culprit::Timer(timer, TaskId::IDLE))
    }
}
