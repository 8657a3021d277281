//! The timer could only fire with a tick.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Phase, Piece};
use tardy_model::{Cause, Culprit, Setting, TaskId};

/// Expiry → the tick with which the timer wheel got to this timer. It is looked at once a tick, and
/// timers that were armed long ahead lie in slots of several ticks. What the tick itself was late by
/// is not part of it, where the tick's own timer was seen. In low-resolution mode all timers are such.
pub(super) struct CoarseClock;

impl Rule for CoarseClock {
    fn cause(&self) -> Cause {
        Cause("coarse_clock")
    }

    fn meaning(&self) -> &'static str {
        "the timer fires only on a tick: it is a timer-wheel timer, or the kernel has no \
            high-resolution timers"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Coarse]
    }

    fn has_phases(&self) -> bool {
        true
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        Some(if piece.case.in_tick {
            Culprit::Setting(Setting::LowResolution)
        } else {
            Culprit::Timer(piece.case.timer, TaskId::IDLE)
        })
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        if weight.first()?.group.kind == "setting" {
            return Some(Remedy::text(
                "All timers fire only on the tick. Boot without highres=off, with a kernel that \
                 has CONFIG_HIGH_RES_TIMERS; if the resolution stays low (.resolution in \
                 /proc/timer_list), the clock source or the clock-event device does not support \
                 more. A higher CONFIG_HZ makes the steps smaller.",
            ));
        }
        Some(Remedy::text(
            "The timer wheel is checked only once a tick. Use a high-resolution timer: \
             clock_nanosleep or timerfd; in the kernel usleep_range or schedule_hrtimeout.",
        ))
    }
}
