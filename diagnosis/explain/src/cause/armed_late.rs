//! The thread asked for a time that had passed already.

use super::{Rule, Weight};
use crate::piece::{Phase, Piece};
use tardy_model::{Cause, Culprit};

/// Soft expiry → arm. The victim itself came too late to ask: it was still late from the time before,
/// or its work took longer than its period.
pub(super) struct ArmedLate;

impl Rule for ArmedLate {
    fn cause(&self) -> Cause {
        Cause("armed_late")
    }

    fn meaning(&self) -> &'static str {
        "the thread armed its timer after the time it asked for"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Unarmed]
    }

    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        Some(Culprit::Task(piece.case.task))
    }

    fn advice(&self, _: &Weight<'_>) -> Option<String> {
        Some("the thread's work does not fit into its period: shorten the work or lengthen the period".to_owned())
    }
}
