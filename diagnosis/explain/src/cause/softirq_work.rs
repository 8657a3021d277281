//! Other work came first in the same softirq.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::advice::softirq::remedy;
use crate::piece::{Phase, Piece};
use tardy_followers::Activity;
use tardy_model::{Cause, Culprit, TaskId};

/// Softirq begins → this callback, spent in other vectors or other timers. Interrupts that break
/// into it are left to their own cause.
pub(super) struct SoftirqWork;

impl Rule for SoftirqWork {
    fn cause(&self) -> Cause {
        Cause("softirq_work")
    }

    fn meaning(&self) -> &'static str {
        "the softirq did other work before it ran this timer"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::DeferredRun]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        match *piece.activity {
            Activity::Irq(_)
            | Activity::Ipi(..)
            | Activity::Nmi(_)
            | Activity::Expiry(..)
            | Activity::Unknown => None,
            _ if piece.case.timer_thread != TaskId::IDLE => None,
            // The thread is the same for all of its timers: which one came first is what says more.
            Activity::ThreadedExpiry(_, timer, ..) => Some(Culprit::Timer(timer, TaskId::IDLE)),
            _ => Some(piece.who_ran(piece.sees_interrupts)),
        }
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let first = weight.first().filter(|_| weight.is_weighty())?;
        let (who, runs) = (first.group.words(), first.group.verb("runs", "run"));
        let sleeps = "The sleep timers of real-time threads (clock_nanosleep) need no softirq.";
        let text = match weight.softirq().and_then(remedy) {
            Some(remedy) => format!("{who} {runs} before the timer in the softirq. {remedy}"),
            None => format!("{who} {runs} before the timer in the softirq. {sleeps}"),
        };
        Some(Remedy::text(text).by(weight.leave()).against(first))
    }
}
