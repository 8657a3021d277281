//! A task ran on that should have been preempted.

use super::{Rule, Weight};
use crate::advice::{Remedy, softirq};
use crate::piece::{Doing, Phase, Piece};
use tardy_model::event::Taken;
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
        &[Doing::Below]
    }

    fn stacks(&self) -> &'static [Taken] {
        &[Taken::Left]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        // Nothing can be said of a task in which an interrupt or a softirq may have run unseen.
        let sure = piece.sees_interrupts || piece.in_section;
        (piece.doing == Doing::Below && sure).then(|| piece.activity.culprit())
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let first = weight.first()?;
        let (who, runs) = (first.group.words(), first.group.verb("runs", "run"));
        let place = weight.place().map(|(_, words)| words).unwrap_or_default();
        weight.is_weighty().then(|| {
            if let Some(remedy) = softirq::in_thread(weight) {
                return remedy;
            }
            Remedy::text(format!(
                "{who} {runs} on inside the kernel{place}. Boot with preempt=full, or use a PREEMPT_RT kernel."
            ))
            .with(Some("mount -t debugfs nodev /sys/kernel/debug; echo full > /sys/kernel/debug/sched/preempt".to_owned()))
            .by(["preempt=full".to_owned()].into_iter().chain(weight.keep_away()))
        })
    }
}
