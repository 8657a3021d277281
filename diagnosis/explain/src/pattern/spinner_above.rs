//! One task above that keeps the CPU for long.

use super::{Evidence, Found, Pattern, Scene, percent, prio_words};
use tardy_model::{Culprit, TaskId, duration};

/// Shorter stretches are work.
const STRETCH_NS_MIN: u64 = 500_000;

/// One task of higher priority takes most of a lateness, in stretches of half a millisecond or more.
pub(super) struct SpinnerAbove;

/// A task's time without anybody else's between, as it is found.
struct Run {
    task: TaskId,
    start_ns: u64,
    ns: u64,
}

impl Pattern for SpinnerAbove {
    fn name(&self) -> &'static str {
        "spinner_above"
    }

    fn title(&self) -> &'static str {
        "a task of higher priority kept the CPU for long"
    }

    fn reference(&self) -> &'static str {
        "sched(7), SCHED_FIFO: a thread runs until it blocks, is preempted by one of higher priority, or \
         yields"
    }

    fn causes(&self) -> &'static [&'static str] {
        &["higher_priority"]
    }

    fn find(&self, scene: &Scene<'_>, evidence: &mut Evidence) -> bool {
        let wakeup = scene.wakeup;
        if wakeup.lateness_ns < STRETCH_NS_MIN {
            return false;
        }
        let mut longest: Option<Run> = None;
        let mut run: Option<Run> = None;
        let mut shown_ns = wakeup.expiry_ns;
        for segment in &wakeup.segments {
            // What lies between is another cause's.
            if shown_ns < segment.start_ns {
                run = None;
            }
            shown_ns = segment.end_ns();
            match (segment.cause.0, segment.culprit, &mut run) {
                ("higher_priority", Culprit::Task(task), Some(run)) if run.task == task => {
                    run.ns += segment.ns;
                }
                ("higher_priority", Culprit::Task(task), _) => {
                    run = Some(Run { task, start_ns: segment.start_ns, ns: segment.ns });
                }
                // An interrupt breaks into its run, and does not end it.
                ("interrupts" | "stacked_timers", ..) => {}
                _ => run = None,
            }
            if let Some(run) = &run
                && longest.as_ref().is_none_or(|longest| run.ns > longest.ns)
            {
                longest = Some(Run { ..*run });
            }
        }
        let Some(longest) = longest.filter(|run| run.ns >= STRETCH_NS_MIN) else { return false };
        // Tasks of the same priority, and any of the fair class, take turns.
        let above =
            scene.prio(longest.task).filter(|prio| *prio < wakeup.prio && prio.is_realtime());
        let Some(prio) = above else { return false };
        evidence.at(longest.start_ns);
        evidence.count(longest.ns);
        evidence.prio(prio);
        let culprit = Culprit::Task(longest.task);
        for segment in scene.own().filter(|segment| segment.culprit == culprit) {
            evidence.blame(&segment);
        }
        evidence.ns.saturating_mul(2) > wakeup.lateness_ns
    }

    fn words(&self, found: &Found) -> String {
        let Some(worst) = &found.worst else { return String::new() };
        format!(
            "In {} of {} wakeups {} ran first, for {} at once on average and at most {}, {} of \
             all lateness; in the worst one, of {}, it had {}. Make it sleep or wait for an event \
             instead of polling, or give it a CPU of its own or a priority below the thread's.",
            found.wakeups,
            found.of_wakeups,
            found.names(),
            duration(found.count_mean as u64),
            duration(found.count_max),
            percent(found.share),
            worst.victim.name,
            worst.prio.map(prio_words).unwrap_or_default(),
        )
    }
}
