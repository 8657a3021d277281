//! Others ran that have a higher priority.

use super::{Rule, Weight, above};
use crate::advice::Remedy;
use crate::pattern::prio_words;
use crate::piece::{Doing, Phase};
use tardy_model::Cause;

/// Runnable → runs, time of tasks of a higher priority, which real-time and deadline tasks have; with the
/// softirqs that they run in their own context. Equals are [`CpuContention`](super::cpu_contention::CpuContention).
pub(super) struct HigherPriority;

impl Rule for HigherPriority {
    fn cause(&self) -> Cause {
        Cause("higher_priority")
    }

    fn meaning(&self) -> &'static str {
        "tasks of higher priority ran"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Runnable]
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Above]
    }

    fn has_all(&self) -> bool {
        true
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let first = weight.first()?;
        let (who, victims) = (first.group.words(), weight.victims());
        let (runs, is) = (first.group.verb("runs", "run"), first.group.verb("is", "are"));
        let highest = weight.highest_prio();
        let highest_of_others = highest.filter(|_| !weight.is_among_victims());
        let above_it =
            highest_of_others.and_then(above).map(|prio| format!("prio(victim)=fifo:{prio}"));
        let higher = highest_of_others.and_then(above).and_then(|prio| weight.real_time(prio));
        let remedy = match (highest, higher, weight.move_away()) {
            _ if weight.is_among_victims() => Remedy::text(format!(
                "{who} {runs} first, and {is} among {victims} that were late: give each its own priority, \
                 the most urgent the highest. Explain the one that matters alone (--comm) for the rest."
            )),
            (Some(prio), command @ Some(_), _) => Remedy::text(format!(
                "{who} {runs} first, with {}. A priority above it lets {victims} run first.",
                prio_words(prio)
            ))
            .with(command),
            (_, None, away @ Some(_)) => Remedy::text(format!(
                "{who} {runs} first. Another CPU keeps it away from {victims}."
            ))
            .with(away),
            (Some(prio), None, None) if prio.0 <= 0 => Remedy::text(format!(
                "{who} {runs} first, with {}, and no priority is higher. Bind one of the two to \
                    another CPU.",
                prio_words(prio)
            )),
            _ => Remedy::text(format!(
                "{who} {runs} first. Give {victims} a higher priority, or bind one of the two to another CPU."
            )),
        };
        Some(remedy.by(above_it.into_iter().chain(weight.keep_away())).against(first))
    }
}
