//! A task ran on that should have been preempted.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Doing, Phase, Piece, Standing};
use tardy_model::{Cause, Culprit};

/// Runnable → runs, time of a task of lower priority: it could not be preempted where it was. The
/// scheduler's own work for the switch is in it. Only where the stream records interrupts and softirqs, or
/// the section without preemption itself: else one of those may have run, and the task is not to blame.
pub(super) struct NotPreemptible;

impl Rule for NotPreemptible {
    fn cause(&self) -> Cause {
        Cause("not_preemptible")
    }

    fn meaning(&self) -> &'static str {
        "a task of lower priority ran on and could not be preempted"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Runnable]
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Task]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let (_, standing) = piece.other()?;
        // Nothing can be said of a task in which an interrupt or a softirq may have run unseen.
        let sure = piece.sees_interrupts || piece.in_section;
        (standing == Standing::Below && sure).then(|| piece.activity.culprit())
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let who = weight.first()?.group.words();
        weight.is_weighty().then(|| {
            Remedy::text(format!(
                "{who} runs on inside the kernel. Boot with preempt=full, or use a PREEMPT_RT kernel."
            ))
            .with(Some("echo full > /sys/kernel/debug/sched/preempt".to_owned()))
            .by(["preempt=full".to_owned()].into_iter().chain(weight.keep_away()))
        })
    }
}
