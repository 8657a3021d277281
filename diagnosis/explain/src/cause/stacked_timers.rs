//! Other timers' callbacks ran in the same expiry loop.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Doing, Phase, Piece};
use tardy_model::{Cause, Culprit};

/// Other callbacks of the expiry loop, each with the loop's work that led to it: those before this
/// timer's callback, and those after it that still keep the victim from running.
pub(super) struct StackedTimers;

impl Rule for StackedTimers {
    fn cause(&self) -> Cause {
        Cause("stacked_timers")
    }

    fn meaning(&self) -> &'static str {
        "other timers' callbacks ran in the same interrupt"
    }

    fn phases(&self) -> &'static [Phase] {
        Phase::ON_ITS_WAY
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Expiry]
    }

    // Who was not woken by a timer was in no expiry loop's way: callbacks are interrupts to it.
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        piece.by_timer.then(|| piece.activity.culprit())
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let first = weight.first()?;
        let (who, victims) = (first.group.words(), weight.victims());
        let who = who.strip_prefix("the ").unwrap_or(&who);
        let (expires, those) =
            (first.group.verb("expires", "expire"), first.group.verb("the timers", "those"));
        let happens = format!("The {who} {expires} in the same interrupt as {those} of {victims}.");
        Some(match weight.move_away() {
            Some(away) => {
                Remedy::text(format!("{happens} Put the two on different CPUs.")).with(Some(away))
            }
            None => Remedy::text(format!(
                "{happens} Make their owners sleep less often, keep them off these CPUs, or use \
                 PREEMPT_RT, which defers the timers of ordinary threads."
            )),
        }
        .by(weight.keep_away())
        .against(first))
    }
}
