//! The CPU idled by choice.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Doing, Phase, Piece, Refusal};
use tardy_model::{Cause, Culprit};

/// Runnable → runs, where the CPU went to sleep although the victim was in its queue, and no timer of a
/// bandwidth ended it.
pub(super) struct ForcedIdle;

impl Rule for ForcedIdle {
    fn cause(&self) -> Cause {
        Cause("forced_idle")
    }

    fn meaning(&self) -> &'static str {
        "the CPU idled although the thread was runnable: core scheduling, sched_ext, or a bandwidth limit that \
         the trace does not show"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Runnable]
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Refused]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        (piece.refusal == Some(Refusal::ForcedIdle)).then_some(Culprit::Nobody)
    }

    fn advice(&self, _: &Weight<'_>) -> Option<Remedy> {
        Some(Remedy::text(
            "The CPU idled although the thread could run. Look for a core scheduling cookie (PR_SCHED_CORE), a \
             sched_ext scheduler (/sys/kernel/sched_ext/state), and a throttled control group (cpu.stat).",
        ))
    }
}
