//! The host of a virtual machine ran something else.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Doing, Phase};
use tardy_model::Cause;

/// Time that the hypervisor took from the CPU, wherever the wakeup stood then.
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

    fn has_all(&self) -> bool {
        true
    }

    fn advice(&self, _: &Weight<'_>) -> Option<Remedy> {
        Some(Remedy::text(
            "The host ran something else. No setting inside this guest helps: give it dedicated \
             CPUs (pinned virtual CPUs, no overcommitment), or measure on hardware.",
        ))
    }
}
