//! The host of a virtual machine ran something else.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Doing, Phase, Piece};
use tardy_followers::Activity;
use tardy_model::{Cause, Culprit};

/// Time that the hypervisor took from the CPU, or from the one that a thread on it waited for, wherever the wakeup stood
/// then.
pub(super) struct Hypervisor;

impl Rule for Hypervisor {
    fn cause(&self) -> Cause {
        Cause("hypervisor")
    }

    fn meaning(&self) -> &'static str {
        "the hypervisor ran something else than this virtual CPU (stolen time)"
    }

    fn phases(&self) -> &'static [Phase] {
        &[
            Phase::Unarmed,
            Phase::Pending,
            Phase::Interrupt,
            Phase::DeferredWait,
            Phase::DeferredRun,
            Phase::Callback,
            Phase::Placing,
            Phase::Runnable,
            Phase::Running,
            Phase::Faulting,
        ]
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Stolen]
    }

    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        match *piece.activity {
            Activity::Stolen(sure) | Activity::HeldUp(sure, ..) => Some(Culprit::Hypervisor(sure)),
            _ => None,
        }
    }

    fn advice(&self, _: &Weight<'_>) -> Option<Remedy> {
        Some(Remedy::text(
            "The host ran something else. No setting inside this guest helps: give it dedicated \
             CPUs (pinned virtual CPUs, no overcommitment), or measure on hardware.",
        ))
    }
}
