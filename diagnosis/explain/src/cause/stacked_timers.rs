//! Other timers' callbacks ran in the same expiry loop.

use super::{Rule, Weight};
use crate::piece::{Doing, Phase, Piece};
use tardy_followers::Activity;
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
        &[
            Phase::Pending,
            Phase::Interrupt,
            Phase::SoftirqWait,
            Phase::SoftirqRun,
            Phase::Callback,
            Phase::Placing,
            Phase::Runnable,
        ]
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Expiry]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let expiry = matches!(*piece.activity, Activity::Expiry(..));
        expiry.then(|| piece.activity.culprit())
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<String> {
        let names: Vec<&str> =
            weight.culprits.iter().map(|(label, _)| label.name.as_str()).collect();
        Some(format!(
            "{} timers expire in this thread's interrupt, most by {}: let them arm fewer, move them \
             to other CPUs, or use PREEMPT_RT, which defers timers of threads that are not real-time",
            weight.culprits_count,
            names.join(", ")
        ))
    }
}
