//! The thread asked for a time that had passed already.
//!
//! A thread with a period that is held up once asks for several times that have passed, one after the other, and does
//! not sleep in between. So why it asked late is told by what it did until then: it worked; or it slept, and the wakeup
//! before was late. Where it could have run, this is none of this cause: it waited for a CPU as it does in any wakeup.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Doing, Phase, Piece};
use tardy_model::{Cause, Culprit};

/// Soft expiry → arm, while who armed it ran, mostly the victim itself: its work took longer than its period. Nobody is
/// known while it slept.
pub(super) struct ArmedLate;

impl Rule for ArmedLate {
    fn cause(&self) -> Cause {
        Cause("armed_late")
    }

    fn meaning(&self) -> &'static str {
        "the timer was armed after its expiry time had passed"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Unarmed]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let is_unknown = piece.doing == Doing::Unknown && piece.held_by == Culprit::Nobody;
        (piece.doing != Doing::Stolen && !is_unknown).then_some(piece.held_by)
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let (who, victims) = (weight.first()?.group.words(), weight.victims());
        Some(Remedy::text(if weight.is_by_somebody() {
            format!(
                "{who} worked until after the time for which it asked next. Its work does not fit into its period: do \
                 less work per period, or lengthen the period."
            )
        } else {
            format!(
                "A wakeup was so late that {victims} asked for times that had passed. What helps against that one helps \
                 here too."
            )
        }))
    }
}
