//! The timer interrupt came late.

use super::{Rule, Weight};
use crate::piece::{Activity, Phase, Piece};
use tardy_model::{Cause, Culprit};

/// Expiry → timer interrupt entry, while the CPU was awake: whoever ran kept interrupts off, or the
/// clock-event device was late, or the hypervisor did not run the virtual CPU.
pub(super) struct IrqDelay;

impl Rule for IrqDelay {
    fn cause(&self) -> Cause {
        Cause("irq_delay")
    }

    fn meaning(&self) -> &'static str {
        "the timer interrupt came late: interrupts off, a late device, or a hypervisor"
    }

    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let known = piece.activity != Activity::Unknown;
        (piece.phase == Phase::Pending && known).then(|| piece.activity.culprit())
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<String> {
        (weight.mean_ns >= 10_000).then(|| {
            "find who keeps interrupts off (the irqsoff tracer), or, in a guest, give the virtual \
             CPUs cores of their own"
                .to_owned()
        })
    }
}
