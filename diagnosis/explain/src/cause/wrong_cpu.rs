//! The victim was woken for another CPU, which had to be told or had to wake up.

use super::{Rule, Weight};
use crate::piece::{Phase, Piece};
use tardy_model::{Cause, Culprit};

/// The choice of another CPU and the move there; then, where the waker was elsewhere, the time until
/// a sleeping target heard of it.
pub(super) struct WrongCpu;

impl Rule for WrongCpu {
    fn cause(&self) -> Cause {
        Cause("wrong_cpu")
    }

    fn meaning(&self) -> &'static str {
        "another CPU had to be chosen, told or woken"
    }

    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let remote = piece.waker_cpu != piece.cpu;
        let idle = piece.activity.is_idle();
        match piece.phase {
            Phase::Placing => Some(Culprit::Cpu(piece.cpu)),
            Phase::Runnable if remote && idle => Some(Culprit::Cpu(piece.cpu)),
            _ => None,
        }
    }

    fn advice(&self, _: &Weight<'_>) -> Option<String> {
        Some(
            "it is woken from another CPU: bind the thread, and what wakes it, to the same CPU"
                .to_owned(),
        )
    }
}
