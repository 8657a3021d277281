//! The victim was woken for another CPU, which had to be chosen and told.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Doing, Phase, Piece};
use tardy_model::{Cause, CpuId, Culprit};

/// The choice of another CPU and the move there, up to where the victim is in its queue. What a CPU that
/// slept takes to wake up is [`IdleExit`](super::idle_exit::IdleExit)'s.
pub(super) struct WrongCpu;

impl Rule for WrongCpu {
    fn cause(&self) -> Cause {
        Cause("wrong_cpu")
    }

    fn meaning(&self) -> &'static str {
        "the waker had to queue the thread on another CPU"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Placing, Phase::Runnable]
    }

    fn is_asked(&self, phase: Phase, doing: Doing) -> bool {
        phase == Phase::Placing || phase == Phase::Runnable && doing == Doing::Idle
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let by_waker = piece.cpu == piece.waker_cpu || !piece.activity.is_idle();
        let placing = piece.phase == Phase::Placing && by_waker;
        // It should have been awake by then: it had not been told.
        let told_late =
            piece.doing == Doing::Idle && piece.is_past_exit && piece.waker_cpu != piece.cpu;
        let chosen = if placing { piece.next_cpu } else { piece.cpu };
        let culprit = if chosen == CpuId::UNKNOWN { Culprit::Nobody } else { Culprit::Cpu(chosen) };
        (placing || told_late).then_some(culprit)
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let victims = weight.victims();
        Some(Remedy::text(format!(
            "Other CPUs wake {victims} and must interrupt its CPU. Bind both sides to the same \
                CPU (taskset -cp CPU PID)."
        )))
    }
}
