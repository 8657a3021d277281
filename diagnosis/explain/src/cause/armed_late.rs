//! The thread asked for a time that had passed already.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Phase, Piece};
use tardy_model::{Cause, Culprit, TaskId};

/// Soft expiry → arm. Who armed it, mostly the victim itself, came too late to ask: it was still late from the time before,
/// or its work took longer than its period.
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

    fn has_phases(&self) -> bool {
        true
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let by = piece.case.armed_by;
        Some(Culprit::Task(if by == TaskId::IDLE { piece.case.task } else { by }))
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let who = weight.first()?.group.words();
        Some(Remedy::text(format!(
            "{who} arms the timer after its expiry time has passed. If the timer is its own, its \
             work does not fit into its period: do less work per period, or lengthen the period."
        )))
    }
}
