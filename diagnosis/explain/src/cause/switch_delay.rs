//! The CPU did not switch to the victim at once, and the trace does not record why.

use super::Rule;
use crate::piece::{Doing, Phase, Piece};
use tardy_model::event::Taken;
use tardy_model::{Cause, Culprit};

/// Runnable → runs, while a task of lower priority was current, in a stream without events of interrupts or
/// softirqs: the task could not be preempted, or one of those ran in it. Where they are recorded, it is
/// [`NotPreemptible`](super::not_preemptible::NotPreemptible)'s or
/// [`Interrupts`](super::interrupts::Interrupts)'.
pub(super) struct SwitchDelay;

impl Rule for SwitchDelay {
    fn cause(&self) -> Cause {
        Cause("switch_delay")
    }

    fn meaning(&self) -> &'static str {
        "a task of lower priority could not be preempted, or an interrupt ran that the trace does not record: on \
         an idle CPU only that"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Runnable]
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Below, Doing::Idle]
    }

    fn stacks(&self) -> &'static [Taken] {
        &[Taken::Left]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        if piece.sees_interrupts {
            return None;
        }
        if piece.doing == Doing::Idle {
            return piece.is_past_way_out.then_some(Culprit::Nobody);
        }
        let (task, _) = piece.activity.thread()?;
        Some(Culprit::TaskOrInterrupt(task))
    }
}
