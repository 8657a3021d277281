//! A lock without priority inheritance, whose holder others keep from running.

use super::{Evidence, Found, Pattern, Scene, percent};
use tardy_model::event::futex;
use tardy_model::{Culprit, StretchKind, WakeupKind, duration};

/// A wait for a lock that lends no priority, while somebody other than the holder ran where the
/// holder could have.
pub(super) struct Inversion;

impl Pattern for Inversion {
    fn name(&self) -> &'static str {
        "priority_inversion"
    }

    fn title(&self) -> &'static str {
        "priority inversion: the holder of a lock could not run, and nothing boosted its priority"
    }

    fn reference(&self) -> &'static str {
        "L. Sha, R. Rajkumar, J. P. Lehoczky, \"Priority inheritance protocols\", IEEE Transactions on \
         Computers 39(9), 1990; pthread_mutexattr_setprotocol(3)"
    }

    fn causes(&self) -> &'static [&'static str] {
        &["lock"]
    }

    fn find(&self, scene: &Scene<'_>, evidence: &mut Evidence) -> bool {
        let wakeup = scene.wakeup;
        let lends = wakeup.lock.is_none_or(|lock| {
            !matches!(futex::operation(lock.op), futex::WAIT | futex::WAIT_BITSET)
        });
        if wakeup.kind != WakeupKind::Lock || lends || !wakeup.boosts.is_empty() {
            return false;
        }
        for segment in scene.own() {
            let stretch = wakeup.stretches.get(usize::from(segment.stretch));
            let Some(StretchKind::Blocked { holder, .. }) = stretch.map(|stretch| stretch.kind)
            else {
                continue;
            };
            if let Culprit::Task(task) = segment.culprit
                && task != holder
            {
                evidence.at(segment.start_ns);
                evidence.count(1);
                evidence.blame(&segment);
            }
        }
        evidence.count > 0
    }

    fn words(&self, found: &Found) -> String {
        let Some(worst) = &found.worst else { return String::new() };
        format!(
            "{} ran while {} waited for a lock whose holder could not run: {} of all \
             lateness, {} of {} in the worst call. Use a mutex with PTHREAD_PRIO_INHERIT, or \
             make sure that no task below the waiters' priority can preempt the holder.",
            found.names(),
            worst.victim.name,
            percent(found.share),
            duration(worst.ns),
            duration(worst.lateness_ns),
        )
    }
}
