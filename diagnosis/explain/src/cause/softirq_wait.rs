//! The softirq that runs the timer had to wait for its turn.

use super::{PRIORITY, Rule, Weight, above};
use crate::advice::Remedy;
use crate::piece::{Phase, Piece};
use tardy_followers::Activity;
use tardy_model::event::Taken;
use tardy_model::{Cause, Culprit, TaskId};

/// Softirq raised → its thread or context begins; and later, up to the waking, whenever that thread does not have
/// the CPU: it was preempted, or waits for a lock. The culprit is what ran instead.
pub(super) struct SoftirqWait;

impl Rule for SoftirqWait {
    fn cause(&self) -> Cause {
        Cause("softirq_wait")
    }

    fn meaning(&self) -> &'static str {
        "the softirq that runs the timer was raised and did not run yet"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::DeferredWait, Phase::DeferredRun, Phase::Callback]
    }

    fn stacks(&self) -> &'static [Taken] {
        &[Taken::Left]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        if piece.case.timer_thread != TaskId::IDLE {
            return None;
        }
        let (thread, prio) = piece.case.softirq_thread;
        let runs_instead = match *piece.activity {
            // Where no events tell of softirqs, what the thread does is its work on them, and so may be what the victim does.
            Activity::Task(task, _) => {
                piece.sees_interrupts || (task != piece.case.task && task != thread)
            }
            Activity::Idle(_)
            | Activity::Awake(_)
            | Activity::Polling(_)
            | Activity::InjectedIdle(..) => true,
            _ => false,
        };
        // A thread waits for its betters and equals, whatever they do.
        let by_right = match *piece.activity {
            Activity::Task(_, other) | Activity::InjectedIdle(.., other) => {
                thread != TaskId::IDLE
                    && other.is_known()
                    && prio.is_known()
                    && other.may_run_before(prio)
            }
            _ => false,
        };
        let waits = piece.phase == Phase::DeferredWait || runs_instead;
        waits.then(|| piece.who_ran(piece.sees_interrupts || by_right))
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let first = weight.first()?;
        // Who keeps a softirq waiting that no thread runs, and an idle CPU, heed no priority; and what late threads did
        // themselves they would have to do all the same.
        let is_task =
            matches!(first.group.kind, "task" | "kernel_task") && !weight.is_among_victims();
        let prio = match weight.highest_prio() {
            Some(prio) if prio.is_realtime() => above(prio).unwrap_or(PRIORITY),
            _ => PRIORITY,
        };
        // `ktimers` exist since 6.1 with PREEMPT_RT; before, and where timers are put off, it is `ksoftirqd`, which has
        // everything else to do as well.
        let command = format!(
            "for id in $(pgrep '^ktimers/' || pgrep '^ksoftirqd/'); do chrt -f -p {prio} $id; done"
        );
        is_task.then(|| {
            Remedy::text(format!(
                "{} ran while the timer's softirq waited. If threads run the softirq \
                 (PREEMPT_RT: ktimers), give them a higher priority; the sleep timers of real-time \
                 threads need no softirq.",
                first.group.words()
            ))
            .with(Some(command))
            .by([format!("prio(ktimers/*)=fifo:{prio}"), format!("prio(ksoftirqd/*)=fifo:{prio}")])
        })
    }
}
