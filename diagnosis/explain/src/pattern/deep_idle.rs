//! CPUs that sleep deeply.

use super::{Evidence, Found, Pattern, Scene, percent};
use tardy_model::duration;

/// Less is no deep state: what a shallow one needs to wake up.
const EXIT_NS_MIN: u64 = 5_000;

/// The CPU slept, and had to wake up before it could see to the timer.
pub(super) struct DeepIdle;

impl Pattern for DeepIdle {
    fn name(&self) -> &'static str {
        "deep_idle"
    }

    fn title(&self) -> &'static str {
        "CPUs sleep so deeply that waking up takes long"
    }

    fn reference(&self) -> &'static str {
        "Documentation/power/pm_qos_interface.rst (/dev/cpu_dma_latency); \
         Documentation/admin-guide/pm/cpuidle.rst; cyclictest(8), which holds that file open"
    }

    fn causes(&self) -> &'static [&'static str] {
        &["idle_exit"]
    }

    fn find(&self, scene: &Scene<'_>, evidence: &mut Evidence) -> bool {
        if scene.wakeup.lateness_ns < EXIT_NS_MIN {
            return false;
        }
        let mut exit_ns = 0;
        for segment in scene.own() {
            // Of the idle loop before it chose a state, nothing could be set differently.
            if scene.is_idle_state(segment.culprit) {
                evidence.at(segment.start_ns);
                evidence.blame(&segment);
                exit_ns += segment.ns;
            }
        }
        evidence.count(exit_ns);
        exit_ns >= EXIT_NS_MIN
    }

    fn words(&self, found: &Found) -> String {
        format!(
            "In {} of {} wakeups the CPU first had to leave {}, which took {} on average and at \
             most {}: {} of all lateness. A program runs better while cyclictest runs, because \
             cyclictest keeps CPUs out of these states: hold /dev/cpu_dma_latency open with a 0 \
             written to it while latency matters, or disable the states in \
             /sys/devices/system/cpu/cpu*/cpuidle.",
            found.wakeups,
            found.of_wakeups,
            found.names(),
            duration(found.count_mean as u64),
            duration(found.count_max),
            percent(found.share),
        )
    }
}
