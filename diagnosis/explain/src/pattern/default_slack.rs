//! The default timer slack.

use super::{Evidence, Found, Pattern, Scene, percent};
use tardy_model::{Culprit, Setting, duration};

/// What a thread starts with that was given no other (`INIT_TASK` in `init/init_task.c`).
const DEFAULT_NS: u32 = 50_000;

/// A thread without real-time priority sleeps, and its timer may fire up to 50 µs late so that it can
/// share an interrupt with others.
pub(super) struct DefaultSlack;

impl Pattern for DefaultSlack {
    fn name(&self) -> &'static str {
        "default_slack"
    }

    fn title(&self) -> &'static str {
        "sleeps are late by the default timer slack"
    }

    fn reference(&self) -> &'static str {
        "linux-kernel, Thomas Gleixner, \"Re: [PATCH] kernel/time: Feedback reply for hr_sleep syscall, \
         a fine-grained sleep service\", 7 April 2021; PR_SET_TIMERSLACK in prctl(2)"
    }

    fn causes(&self) -> &'static [&'static str] {
        &["slack"]
    }

    fn find(&self, scene: &Scene<'_>, evidence: &mut Evidence) -> bool {
        if scene.wakeup.prio.is_realtime() {
            return false;
        }
        let default = Culprit::Setting(Setting::TimerSlack(DEFAULT_NS));
        for segment in scene.own().filter(|segment| segment.culprit == default) {
            evidence.at(segment.start_ns);
            evidence.count(segment.ns);
            evidence.blame(&segment);
        }
        evidence.culprits_count() > 0
    }

    fn words(&self, found: &Found) -> String {
        let Some(worst) = &found.worst else { return String::new() };
        format!(
            "In {} of {} wakeups the timer fired {} late on average, {} of all lateness, because \
             it was allowed to: a thread without real-time priority, such as {}, has a timer slack \
             of 50 µs by default. Call prctl(PR_SET_TIMERSLACK, 1) in the thread (1 ns is the \
             least), or give it a real-time policy, which has no slack.",
            found.wakeups,
            found.of_wakeups,
            duration(found.count_mean as u64),
            percent(found.share),
            worst.victim.name,
        )
    }
}
