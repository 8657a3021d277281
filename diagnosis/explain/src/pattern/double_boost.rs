//! A lock call in which one owner is boosted twice.

use super::{Evidence, Found, Pattern, Scene};
use tardy_model::{Boost, Stretch, StretchKind, WakeupKind, duration};

/// The owner of a PI futex is boosted, wakes the waiter, is put back to its own priority before it
/// has finished its unlock, and still has a lock inside the kernel that the waiter needs next: it
/// must be boosted again, and loses its CPU between the two. Recognised by two boosts of one task
/// within one lock call, with a wait after each and its release between, the second wait in state D
/// or the second boost inside the owner's unlock.
pub(super) struct DoubleBoost;

impl Pattern for DoubleBoost {
    fn name(&self) -> &'static str {
        "double_pi_boost"
    }

    fn title(&self) -> &'static str {
        "the owner of a PI lock had to be boosted twice"
    }

    fn reference(&self) -> &'static str {
        "linux-rt-users, \"ARMv7 futex latency spike\" (2015, with traces); fixed upstream by waking \
         the waiter before the owner is deboosted, and by dropping the futex hash bucket's lock around \
         rt_mutex operations (2015-17, kernels since 4.12)"
    }

    fn causes(&self) -> &'static [&'static str] {
        &["lock"]
    }

    fn find(&self, scene: &Scene<'_>, evidence: &mut Evidence) -> bool {
        let wakeup = scene.wakeup;
        if wakeup.kind != WakeupKind::Lock || wakeup.boosts.len() < 3 {
            return false;
        }
        let boosts = &wakeup.boosts;
        let found = boosts.iter().enumerate().find_map(|(at, second)| {
            let first = boosts[..at].iter().rposition(|first| is_boost(first, second))?;
            let released = boosts[first..at]
                .iter()
                .any(|between| between.released && between.target == second.target);
            let (_, wait) = wait_after(&wakeup.stretches, second.time_ns)?;
            let (waited_before, _) = wait_after(&wakeup.stretches, boosts[first].time_ns)?;
            let StretchKind::Blocked { state, .. } = wait.kind else { return None };
            let inside = second.in_unlock || state.letter() == 'D';
            let is_it = !second.released && released && inside && waited_before < second.time_ns;
            is_it.then_some((second, wait))
        });
        let Some((second, wait)) = found else { return false };
        evidence.at(second.time_ns);
        evidence.count(
            boosts.iter().filter(|b| !b.released && b.target == second.target).count() as u64
        );
        // The second way in, from where it ran again after the first wait, and the second wait.
        let again_ns = wakeup
            .stretches
            .iter()
            .rev()
            .find(|s| s.kind == StretchKind::Kernel && s.start_ns < wait.start_ns)
            .map_or(wait.start_ns, |stretch| stretch.start_ns);
        let until_ns = wait.start_ns + wait.ns;
        for segment in scene.parts() {
            if segment.start_ns >= again_ns && segment.start_ns < until_ns {
                evidence.blame(&segment);
            }
        }
        true
    }

    fn is_worth_telling(&self, _: &Found) -> bool {
        true
    }

    fn words(&self, found: &Found) -> String {
        let Some(worst) = &found.worst else { return String::new() };
        format!(
            "{} of {} wakeups: the owner of a PI lock was put back to its own priority before it \
             had finished its unlock, so {} got the user's lock, ran into one inside the kernel \
             that the owner still held, and boosted it a second time; that cost {} of {} in the \
             worst lock call. The kernel causes this, not the program: use a kernel that wakes \
             before it deboosts, or keep the owner from being preempted in its unlock (a dedicated \
             CPU, or a real-time priority).",
            found.wakeups,
            found.of_wakeups,
            worst.victim.name,
            duration(worst.ns),
            duration(worst.lateness_ns),
        )
    }
}

fn is_boost(first: &Boost, second: &Boost) -> bool {
    !first.released && first.target == second.target && first.by == second.by
}

/// The first wait that begins after a time, and when it begins.
fn wait_after(stretches: &[Stretch], time_ns: u64) -> Option<(u64, Stretch)> {
    stretches
        .iter()
        .find(|s| matches!(s.kind, StretchKind::Blocked { .. }) && s.start_ns >= time_ns)
        .map(|stretch| (stretch.start_ns, *stretch))
}
