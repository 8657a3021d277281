//! The victim was moved between CPUs, and no event tells when.

use super::Rule;
use crate::piece::{Phase, Piece};
use tardy_model::{Cause, CpuId, Culprit};

/// Waking → runs, on another CPU than the one on whose queue it was put, in a stream without migrations: in
/// which queue it waited how long is not known, and nobody is blamed for it.
pub(super) struct UnseenMigration;

impl Rule for UnseenMigration {
    fn cause(&self) -> Cause {
        Cause("unseen_migration")
    }

    fn meaning(&self) -> &'static str {
        "the thread was moved to another CPU while it waited, and the trace does not record when"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Runnable]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        (piece.cpu == CpuId::UNKNOWN).then_some(Culprit::Nobody)
    }
}
