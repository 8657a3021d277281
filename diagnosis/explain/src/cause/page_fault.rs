//! The victim touched a page that was not there.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Phase, Piece};
use tardy_followers::Activity;
use tardy_model::event::Taken;
use tardy_model::{Cause, Culprit};

/// From a page fault of the victim's to when it runs on: its own work in the kernel, and any wait for
/// the page. The end of the work is not told; it counts until the victim waits or is back.
pub(super) struct PageFault;

impl Rule for PageFault {
    fn cause(&self) -> Cause {
        Cause("page_fault")
    }

    fn meaning(&self) -> &'static str {
        "the thread took a page fault"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Faulting, Phase::BlockedOnPage]
    }

    fn stacks(&self) -> &'static [Taken] {
        &[Taken::Left, Taken::Slept]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let own = matches!(*piece.activity, Activity::Task(task, _) if task == piece.case.task);
        match piece.phase {
            Phase::Faulting if own => Some(piece.activity.culprit()),
            Phase::BlockedOnPage => Some(piece.held_by),
            _ => None,
        }
    }

    fn advice(&self, _: &Weight<'_>) -> Option<Remedy> {
        Some(Remedy::text(
            "Lock the memory of the process (mlockall), and touch stack and heap before latency matters.",
        )
        .by(["swap(victim)=off"]))
    }
}
