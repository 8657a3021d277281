//! The kernel put the timer interrupt off.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Doing, Phase, Piece};
use tardy_model::{Cause, Culprit};

/// Expiry → timer interrupt entry, where the interrupt before it had run callbacks for so long that timers expired
/// again and again meanwhile: the kernel then lets as much time pass without one. Whatever the CPU did meanwhile, the
/// callbacks of that interrupt are why.
pub(super) struct HrtimerHang;

impl Rule for HrtimerHang {
    fn cause(&self) -> Cause {
        Cause("hrtimer_hang")
    }

    fn meaning(&self) -> &'static str {
        "the last timer interrupt took so long that the kernel put the next one off"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Pending]
    }

    fn doing(&self) -> &'static [Doing] {
        const {
            &[
                Doing::Unknown,
                Doing::Idle,
                Doing::Own,
                Doing::Above,
                Doing::Equal,
                Doing::Below,
                Doing::Task,
            ]
        }
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        piece.put_off
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let first = weight.first()?;
        let who = first.group.words();
        let who = who.strip_prefix("the ").unwrap_or(&who);
        let happens = format!(
            "The {who} kept a timer interrupt busy for so long that the kernel put the next one off by as much (it \
             counts this as hang in /proc/timer_list)."
        );
        Some(match weight.move_away() {
            Some(away) => Remedy::text(format!("{happens} Put the two on different CPUs."))
                .with(Some(away)),
            None => Remedy::text(format!(
                "{happens} Make their owners sleep less often, keep them off these CPUs, or use \
                 PREEMPT_RT, which defers the timers of ordinary threads."
            )),
        }
        .by(weight.keep_away())
        .against(first))
    }
}
