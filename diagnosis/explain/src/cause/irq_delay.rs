//! The timer interrupt came late.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::label::CLOCK_EVENT_DEVICE;
use crate::piece::{Phase, Piece};
use tardy_followers::Activity;
use tardy_model::event::{IN_USER_SPACE, Taken};
use tardy_model::{Cause, Culprit};

/// Expiry → timer interrupt entry, while the CPU was awake. As long as interrupts of that CPU take to come whoever
/// runs, it is the clock-event device's; of the rest whoever ran kept interrupts off, or the device was later
/// than it mostly is, or the hypervisor did not run the virtual CPU. Where events prove the first, it is
/// [`IrqsOff`](super::irqs_off::IrqsOff)'s.
pub(super) struct IrqDelay;

impl Rule for IrqDelay {
    fn cause(&self) -> Cause {
        Cause("irq_delay")
    }

    fn meaning(&self) -> &'static str {
        "the timer interrupt came late, and no event shows why"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Pending]
    }

    fn stacks(&self) -> &'static [Taken] {
        &[Taken::Interrupted]
    }

    fn is_refuted_by(&self, frames: &str) -> bool {
        // No task keeps interrupts off there.
        frames.starts_with(IN_USER_SPACE)
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        match *piece.activity {
            Activity::Unknown => None,
            _ if piece.in_delivery => Some(Culprit::ClockEventDevice),
            // It should have been awake, or takes interrupts while it polls: whoever was late, the idle state was not.
            Activity::Idle(_)
            | Activity::Awake(_)
            | Activity::Polling(_)
            | Activity::InjectedIdle(..) => Some(Culprit::Nobody),
            // No task keeps off what is on.
            Activity::Task(..) | Activity::ThreadedSoftirq(..) | Activity::ThreadedExpiry(..)
                if piece.irqs_on =>
            {
                Some(Culprit::Nobody)
            }
            _ => Some(piece.who_ran(piece.sees_hard_interrupts)),
        }
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        // Nothing shortens what the device takes.
        let mut blamed = weight.groups.iter().filter(|it| it.group.kind != CLOCK_EVENT_DEVICE);
        let first = blamed.next()?;
        let remedy = match first.group.kind {
            "unknown" => Remedy::text(
                "No event shows why: the clock-event device was later than usual, or a \
                 hypervisor did not run the CPU (in a guest, give the virtual CPUs dedicated \
                 cores).",
            ),
            _ if !weight.is_weighty() => return None,
            "task_or_interrupt" => Remedy::text(unseen(&first.group.words())),
            _ => Remedy::text(with_place(&first.group.words(), weight)),
        };
        let remedy = match first.group.kind {
            "irq" => remedy.by(weight.keep_irq_away().into_iter().chain(weight.leave())),
            _ if weight.softirq().is_some() || weight.is_sent() => remedy.by(weight.leave()),
            _ => remedy.by(weight.keep_away()),
        };
        Some(remedy.against(first))
    }
}

/// What is told of who ran where an interrupt may have.
fn unseen(who: &str) -> String {
    format!(
        "{who} ran while the timer interrupt was due, and the trace does not record interrupts (irq, irq_vectors): with \
         them it would show which it was."
    )
}

/// What is told of who ran while the interrupt was due.
fn with_place(who: &str, weight: &Weight<'_>) -> String {
    match weight.place() {
        Some((_, place)) => format!(
            "{who} ran while the timer interrupt was due{place}: look for code that disables \
             interrupts there; in a guest, give the virtual CPUs dedicated cores."
        ),
        None => format!(
            "{who} ran while the timer interrupt was due. The irqsoff tracer \
             (CONFIG_IRQSOFF_TRACER) shows what disables interrupts, and a recording with --stacks \
             names the function; in a guest, give the virtual CPUs dedicated cores."
        ),
    }
}
