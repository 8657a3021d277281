//! The timer interrupt came late.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Phase, Piece};
use tardy_followers::Activity;
use tardy_model::{Cause, Culprit};

/// Expiry → timer interrupt entry, while the CPU was awake: whoever ran kept interrupts off, or the
/// clock-event device was late, or the hypervisor did not run the virtual CPU. Where events prove the
/// first, it is [`IrqsOff`](super::irqs_off::IrqsOff)'s.
pub(super) struct IrqDelay;

impl Rule for IrqDelay {
    fn cause(&self) -> Cause {
        Cause("irq_delay")
    }

    fn meaning(&self) -> &'static str {
        "the timer interrupt came late: interrupts disabled, a late timer device, or a hypervisor; no event \
         proves which"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Pending]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        match *piece.activity {
            Activity::Unknown => None,
            // It should have been awake: whoever was late, the idle state was not.
            Activity::Idle(_) | Activity::Awake(_) => Some(Culprit::Nobody),
            // No task keeps off what is on.
            Activity::Task(..) | Activity::ThreadedSoftirq(..) | Activity::ThreadedExpiry(..)
                if piece.irqs_on =>
            {
                Some(Culprit::Nobody)
            }
            activity => Some(activity.culprit()),
        }
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let first = weight.first()?.group;
        if first.kind == "unknown" {
            return Some(Remedy::text(
                "No event shows why: the clock-event device was late, or a hypervisor did not run the CPU (in a \
                 guest, give the virtual CPUs cores of their own).",
            ));
        }
        if first.kind == "idle_state" {
            // It kept nothing off.
            return weight.is_weighty().then(|| {
                Remedy::text(
                    "The CPU was idle and awake, and the timer interrupt came late all the same: by the clock-event \
                     device or, in a guest, by the hypervisor (give the virtual CPUs cores of their own).",
                )
            });
        }
        weight.is_weighty().then(|| {
            Remedy::text(format!(
                "{} ran while the timer interrupt was due. Where the kernel has it (CONFIG_IRQSOFF_TRACER), the irqsoff tracer tells who disables interrupts; in a \
                 guest, give the virtual CPUs cores of their own.",
                first.words()
            ))
        })
    }
}
