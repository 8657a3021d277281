//! The CPU slept.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::label::IDLE_LOOP;
use crate::piece::{Doing, Phase, Piece};
use tardy_model::{Cause, Culprit};

/// Expiry → the CPU is awake, and the idle loop's way out after the interrupt; for a victim woken from
/// another CPU, until its own is awake. No longer than the state's exit latency explains, where that is
/// known: what is more is a late device's, or a hypervisor's. Users see it as "my
/// program runs better while cyclictest runs", which holds `/dev/cpu_dma_latency`.
pub(super) struct IdleExit;

impl Rule for IdleExit {
    fn cause(&self) -> Cause {
        Cause("idle_exit")
    }

    fn meaning(&self) -> &'static str {
        "the CPU was in an idle state and had to wake up"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Pending, Phase::Interrupt, Phase::Placing, Phase::Runnable]
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Idle]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let here = match piece.phase {
            // A CPU that polls is awake: its interrupt is late for another reason.
            Phase::Pending => piece.activity.idle_state().is_some() && !piece.is_past_exit,
            // The idle task wakes nobody: an interrupt does, though none may be recorded.
            Phase::Placing if piece.cpu == piece.waker_cpu => false,
            _ => !piece.is_past_exit && !piece.is_past_way_out,
        };
        let culprit = || match piece.activity.idle_state() {
            Some(state) => Culprit::IdleState(state),
            None => piece.activity.culprit(),
        };
        here.then(culprit)
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        // Where there is no state to choose, nothing can be limited.
        let has_choice = weight.groups.iter().any(|culprit| culprit.group.name != IDLE_LOOP);
        let command = r"exec 3> /dev/cpu_dma_latency; printf '\0\0\0\0' >&3";
        (has_choice && weight.mean_ns >= 5_000).then(|| {
            Remedy::text(
                "CPUs sleep too deeply to wake up in time. This command forbids it until the \
                 shell ends; cpuidle.off=1 forbids it from boot.",
            )
            .with(Some(command.to_owned()))
            .by(["idle-latency=10us", "idle-latency=0us", "halt-poll=200us"])
        })
    }
}
