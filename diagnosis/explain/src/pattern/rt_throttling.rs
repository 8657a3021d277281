//! Real-time tasks that have used up their share of a CPU.

use super::{Evidence, Found, Pattern, Scene, percent, prio_words};
use tardy_model::{Culprit, Setting, duration};

/// A CPU switches to tasks of lower priority, or to nothing, while a real-time thread waits on it.
pub(super) struct RtThrottling;

impl Pattern for RtThrottling {
    fn name(&self) -> &'static str {
        "rt_throttling"
    }

    fn title(&self) -> &'static str {
        "real-time threads were throttled"
    }

    fn reference(&self) -> &'static str {
        "Documentation/scheduler/sched-rt-group.rst (sched_rt_runtime_us); since Linux 6.12 the fair \
         server does it: Peter Zijlstra, \"sched/rt: Remove default bandwidth control\""
    }

    fn causes(&self) -> &'static [&'static str] {
        &["throttled"]
    }

    fn find(&self, scene: &Scene<'_>, evidence: &mut Evidence) -> bool {
        let wakeup = scene.wakeup;
        if !wakeup.prio.is_realtime() {
            return false;
        }
        let mut gap_ns = 0;
        // Other bandwidths have remedies of their own.
        let by_realtime = Culprit::Setting(Setting::RtBandwidth);
        for segment in scene.own().filter(|segment| segment.culprit == by_realtime) {
            evidence.at(segment.start_ns);
            evidence.blame(&segment);
            gap_ns += segment.ns;
        }
        evidence.count(gap_ns);
        evidence.prio(wakeup.prio);
        gap_ns > 0
    }

    fn is_worth_telling(&self, _: &Found) -> bool {
        true
    }

    fn words(&self, found: &Found) -> String {
        let Some(worst) = &found.worst else { return String::new() };
        format!(
            "In {} of {} wakeups a CPU ran other tasks although a real-time thread waited for it, \
             {} of all lateness and up to {} at once, when {} ({}) had to wait: the real-time \
             tasks of that CPU had used up their bandwidth, by default 950 of every 1000 ms. Find \
             the real-time task that hardly ever sleeps, and make it sleep; if it must not sleep, \
             write -1 to /proc/sys/kernel/sched_rt_runtime_us (since Linux 6.12, 0 to the file \
             runtime of each CPU's fair_server in /sys/kernel/debug/sched).",
            found.wakeups,
            found.of_wakeups,
            percent(found.share),
            duration(found.count_max),
            worst.victim.name,
            worst.prio.map(prio_words).unwrap_or_default(),
        )
    }
}
