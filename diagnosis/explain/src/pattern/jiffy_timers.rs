//! Timers that can only fire with a tick.

use super::{Evidence, Found, Pattern, Scene, percent};
use tardy_model::{Culprit, duration};

/// A thread is woken by a timer of the timer wheel, which is looked at once a tick, and in larger
/// steps the further away a timer is.
pub(super) struct JiffyTimers;

impl Pattern for JiffyTimers {
    fn name(&self) -> &'static str {
        "jiffy_timers"
    }

    fn title(&self) -> &'static str {
        "timers that fire only on a tick"
    }

    fn reference(&self) -> &'static str {
        "Thomas Gleixner, \"timers: Switch to a non-cascading wheel\" (2016, kernels since 4.8): a timer \
         is late by up to an eighth of its timeout; kernel/time/timer.c"
    }

    fn causes(&self) -> &'static [&'static str] {
        &["coarse_clock"]
    }

    fn find(&self, scene: &Scene<'_>, evidence: &mut Evidence) -> bool {
        for segment in scene.own() {
            // In low-resolution mode every timer is one.
            if matches!(segment.culprit, Culprit::Setting(_)) {
                return false;
            }
            evidence.at(segment.start_ns);
            evidence.count(segment.ns);
            evidence.blame(&segment);
        }
        true
    }

    fn words(&self, found: &Found) -> String {
        let Some(worst) = &found.worst else { return String::new() };
        format!(
            "In {} of {} wakeups the timer ({}) is a timer-wheel timer, which fires only on a \
             tick: it waited {} for its tick on average and up to {} ({}), {} of all lateness. Use \
             a high-resolution timer instead (clock_nanosleep, timerfd, or usleep_range and \
             schedule_hrtimeout in the kernel); a higher HZ makes the steps smaller.",
            found.wakeups,
            found.of_wakeups,
            found.names(),
            duration(found.count_mean as u64),
            duration(found.count_max),
            worst.victim.name,
            percent(found.share),
        )
    }
}
