//! Interrupts were off, and the trace shows it.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Doing, Phase, Piece};
use tardy_followers::Activity;
use tardy_model::event::Taken;
use tardy_model::{Cause, Culprit};

/// Expiry → timer interrupt entry, where the stream records sections with interrupts off (`irq_disable`,
/// `irq_enable`) and the whole stretch lies in one.
pub(super) struct IrqsOff;

impl Rule for IrqsOff {
    fn cause(&self) -> Cause {
        Cause("irqs_off")
    }

    fn meaning(&self) -> &'static str {
        "interrupts were disabled, according to the trace"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Pending]
    }

    fn stacks(&self) -> &'static [Taken] {
        &[Taken::Interrupted]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let ran = *piece.activity != Activity::Unknown && piece.doing != Doing::Idle;
        // An interrupt's handler has them off as well.
        (piece.in_section && ran).then(|| piece.who_ran(piece.sees_hard_interrupts))
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let first = weight.first()?;
        let who = first.group.words();
        let disables = first.group.verb("disables", "disable");
        let text = format!("{who} {disables} interrupts. The irqsoff tracer names the function.");
        Some(Remedy::text(text).against(first))
    }
}
