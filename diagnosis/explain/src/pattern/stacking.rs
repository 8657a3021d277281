//! Timers of others in the same interrupt.

use super::{Evidence, Found, Pattern, Scene, percent};
use tardy_model::duration;

/// At least this many timers of others in one expiry loop.
const TIMERS_MIN: u64 = 2;

/// Other timers' callbacks run in hard interrupt context before the victim's own, or between it and
/// the switch to the victim.
pub(super) struct Stacking;

impl Pattern for Stacking {
    fn name(&self) -> &'static str {
        "timer_stacking"
    }

    fn title(&self) -> &'static str {
        "timers stacked in one interrupt"
    }

    fn reference(&self) -> &'static str {
        "linux-rt-users, Gratian Crisan, \"latency induced by hrtimer stacking\", 4 January 2017; since \
         5.4 the timers of sleepers without real-time priority expire in softirq on PREEMPT_RT"
    }

    fn causes(&self) -> &'static [&'static str] {
        &["stacked_timers"]
    }

    fn find(&self, scene: &Scene<'_>, evidence: &mut Evidence) -> bool {
        for segment in scene.own() {
            evidence.at(segment.start_ns);
            evidence.blame(&segment);
        }
        let timers = evidence.culprits_count();
        evidence.count(timers);
        timers >= TIMERS_MIN
    }

    fn words(&self, found: &Found) -> String {
        let Some(worst) = &found.worst else { return String::new() };
        format!(
            "In {} of {} wakeups {:.0} other timers (at most {}) ran first in the same \
             interrupt, {} of all lateness and up to {} at once: {}. Let fewer threads sleep on \
             timers that expire together, move them to another CPU, or, on PREEMPT_RT, remove the \
             real-time priority of threads that do not need it, so that their timers expire in \
             softirq.",
            found.wakeups,
            found.of_wakeups,
            found.count_mean,
            found.count_max,
            percent(found.share),
            duration(worst.ns),
            found.names(),
        )
    }
}
