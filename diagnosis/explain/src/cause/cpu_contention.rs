//! Others ran that are the victim's equals.

use super::{PRIORITY, Rule, Weight, above};
use crate::advice::{Remedy, softirq};
use crate::piece::{Doing, Phase};
use tardy_model::event::Taken;
use tardy_model::{Cause, Prio};

/// Runnable → runs, time of tasks that the victim shares the CPU with: of the fair class both, whose nice
/// values weigh but do not rank, or of the same real-time priority, which run in the order of coming.
pub(super) struct CpuContention;

impl Rule for CpuContention {
    fn cause(&self) -> Cause {
        Cause("cpu_contention")
    }

    fn meaning(&self) -> &'static str {
        "tasks of equal rank that share the CPU with the thread had their turn"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Runnable]
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Equal]
    }

    fn stacks(&self) -> &'static [Taken] {
        &[Taken::Left]
    }

    fn has_all(&self) -> bool {
        true
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        if let Some(remedy) = softirq::in_thread(weight) {
            return Some(remedy);
        }
        let first = weight.first()?;
        let (who, victims) = (first.group.words(), weight.victims());
        let shares = first.group.verb("shares", "share");
        let is_above =
            |prio: Prio| prio.is_realtime() && prio < weight.highest_prio().unwrap_or(prio);
        if weight.victims_prio().is_some_and(is_above) {
            // Its priority came later than the wait, so a higher one changes nothing.
            return Some(Remedy::text(format!(
                "{who} {shares} the CPU as an equal, while the thread was still an ordinary one: it has its real-time \
                 priority since. Start it with the priority, or set that first, before its affinity and its first sleep."
            )));
        }
        let (command, how, prio) = match weight.victims_prio() {
            // Equals of a real-time priority: one above is enough.
            Some(prio) if prio.is_realtime() => {
                let above = above(prio)?;
                (weight.real_time(above), "A priority one above", above)
            }
            _ => (weight.real_time(PRIORITY), "A real-time priority", PRIORITY),
        };
        if command.is_none() && weight.has_many_victims() {
            return Some(
                Remedy::text(format!(
                    "{who} {shares} the CPU as an equal. A real-time priority lets the thread that \
                 matters run first: explain that thread alone (--pid, --comm) to get the command."
                ))
                .by([format!("prio(victim)=fifo:{prio}")]
                    .into_iter()
                    .chain(weight.keep_away())
                    .chain(weight.isolate())),
            );
        }
        Some(
            Remedy::text(format!(
                "{who} {shares} the CPU as an equal. {how} lets {victims} run first."
            ))
            .with(command)
            .by([format!("prio(victim)=fifo:{prio}")]
                .into_iter()
                .chain(weight.keep_away())
                .chain(weight.isolate())),
        )
    }
}
