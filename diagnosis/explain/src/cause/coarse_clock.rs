//! The timer could only fire with a tick.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Phase, Piece};
use tardy_model::{Cause, Culprit, TaskId};

/// Expiry → the tick with which the timer wheel got to this timer. It is looked at once a tick, and
/// timers that were armed long ahead lie in slots of several ticks. What the tick itself was late by
/// is not part of it, where the tick's own timer was seen.
pub(super) struct CoarseClock;

impl Rule for CoarseClock {
    fn cause(&self) -> Cause {
        Cause("coarse_clock")
    }

    fn meaning(&self) -> &'static str {
        "the timer is a timer-wheel timer, which fires only with a tick"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Coarse]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        Some(Culprit::Timer(piece.case.timer, TaskId::IDLE))
    }

    fn advice(&self, _: &Weight<'_>) -> Option<Remedy> {
        Some(Remedy::text(
            "The timer wheel only looks once a tick. Use a high-resolution timer: clock_nanosleep or timerfd; \
             in the kernel usleep_range or schedule_hrtimeout.",
        ))
    }
}
