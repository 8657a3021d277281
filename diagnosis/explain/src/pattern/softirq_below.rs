//! Timers that run in a softirq of lower priority than the thread that they wake.

use super::{Evidence, Found, Pattern, Scene, percent};
use tardy_model::{Culprit, TaskId, duration};

/// From the raise to the softirq nobody is waited for that long: it is the interrupt's way out, or a switch.
const SWITCH_NS_MAX: u64 = 5_000;

/// The softirq that runs a thread's timer waits while tasks run that the thread itself would preempt.
pub(super) struct SoftirqBelow;

impl Pattern for SoftirqBelow {
    fn name(&self) -> &'static str {
        "softirq_below"
    }

    fn title(&self) -> &'static str {
        "timers run in a softirq thread of lower priority than the thread they wake"
    }

    fn reference(&self) -> &'static str {
        "linux-kernel, Thomas Gleixner, \"High resolution timers and BH processing on -RT\", \
         28 January 2005; since 5.4 PREEMPT_RT expires the timers of real-time sleepers in hard interrupt \
         context, but no others"
    }

    fn causes(&self) -> &'static [&'static str] {
        &["softirq_wait"]
    }

    fn find(&self, scene: &Scene<'_>, evidence: &mut Evidence) -> bool {
        let own = scene.wakeup.prio;
        // Between a thread of the fair class and a softirq thread there is nobody that it outranks.
        if !own.is_realtime() {
            return false;
        }
        for segment in scene.own() {
            let Culprit::Task(task) = segment.culprit else { continue };
            let outranked = scene.prio(task).is_some_and(|prio| !prio.may_run_before(own));
            let is_switch = segment.ns < SWITCH_NS_MAX;
            let is_other = task != scene.wakeup.task && !is_softirq_thread(scene, task);
            if outranked && !is_switch && is_other {
                evidence.at(segment.start_ns);
                evidence.blame(&segment);
            }
        }
        evidence.count(evidence.culprits_count());
        evidence.culprits_count() > 0
    }

    fn words(&self, found: &Found) -> String {
        let Some(worst) = &found.worst else { return String::new() };
        format!(
            "In {} of {} wakeups {} ran although {} outranks them: its timer expires in a softirq, whose \
             thread had to wait for them ({} of all lateness, up to {} at once). Raise that thread above \
             them (chrt -f -p PRIORITY of ktimers/N, or of ksoftirqd/N where there is none), or sleep with \
             clock_nanosleep under a real-time policy, whose timers need no softirq.",
            found.wakeups,
            found.of_wakeups,
            found.names(),
            worst.victim.name,
            percent(found.share),
            duration(worst.ns),
        )
    }
}

/// Whether it is one of the threads that run softirqs: its way to the softirq is nobody else's doing.
fn is_softirq_thread(scene: &Scene<'_>, task: TaskId) -> bool {
    let (comm, of_kernel) = scene.comm(task);
    of_kernel && ["ktimers/", "ksoftirqd/"].iter().any(|name| comm.0.starts_with(name.as_bytes()))
}
