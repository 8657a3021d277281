//! A bandwidth was used up.

use super::{Rule, Weight};
use crate::piece::{Doing, Phase, Piece, Refusal};
use tardy_model::{Cause, Culprit};

/// Runnable → a bandwidth is given back: a control group's (`cpu.max`), a deadline task's budget, or that of
/// all real-time tasks. `refusal.rs` tells them apart. Whatever the CPU did meanwhile, the victim could not
/// have run.
pub(super) struct Throttled;

impl Rule for Throttled {
    fn cause(&self) -> Cause {
        Cause("throttled")
    }

    fn meaning(&self) -> &'static str {
        "the thread, its control group or its class had used up its CPU bandwidth"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Runnable]
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Refused]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        match piece.refusal {
            Some(Refusal::Throttled(culprit)) => Some(culprit),
            _ => None,
        }
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<String> {
        let (first, _) = weight.culprits.first()?;
        let what = if first.name.starts_with("CFS") {
            "raise cpu.max of its control group (or its parents'), or use less CPU time in it"
        } else if first.name.starts_with("deadline") {
            "give the thread a longer SCHED_DEADLINE runtime, or find why it runs longer than it asked for"
        } else {
            "real-time tasks use up kernel.sched_rt_runtime_us (since Linux 6.12 the fair server's share): \
             find the one that hardly ever sleeps"
        };
        Some(format!("{}: {what}", first.name))
    }
}
