//! Where a CPU chose others although a victim that should have run waited on it.
//!
//! A task that runs on may be one that cannot be preempted where it is. A *switch* to a task that may
//! not run first is another thing: the scheduler chose, and the victim was not to be chosen. A bandwidth
//! was used up, of all real-time tasks or of a control group.

use crate::cpu::Cpu;
use crate::piece::Activity;
use tardy_model::{Prio, TaskId};

/// A gap must be at least this long. The kernel's own periods are of 10 ms and more; a victim that is
/// moved, or whose waking CPU has not put it into the queue yet, is passed over for microseconds.
const GAP_NS_MIN: u64 = 1_000_000;

/// Gaps of one phase that are told.
const GAPS_MAX: usize = 64;

/// Whom a CPU may have passed over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) task: TaskId,
    pub(crate) prio: Prio,
    /// The CPU itself woke it, so that it was in the queue from the beginning.
    pub(crate) woken_here: bool,
}

/// A gap as it grows.
struct Gap {
    start_ns: u64,
    /// The CPU switched to somebody in it who may not run first.
    chosen: bool,
}

/// The gaps between two times, as begin and end, in order. They begin and end where what the CPU did
/// changed.
pub(crate) fn gaps(cpu: &Cpu, from_ns: u64, to_ns: u64, waiting: Waiting) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    if to_ns - from_ns < GAP_NS_MIN || !waiting.prio.is_known() {
        return found;
    }
    let mut base = cpu.base_before(from_ns);
    let mut queued =
        waiting.woken_here || matches!(base, Activity::Task(task, _) if task == waiting.task);
    let mut gap = Gap { start_ns: from_ns, chosen: false };
    let mut end = |gap: &Gap, at_ns: u64| {
        if gap.chosen && at_ns - gap.start_ns >= GAP_NS_MIN && found.len() < GAPS_MAX {
            found.push((gap.start_ns, at_ns));
        }
    };
    cpu.between(from_ns, to_ns, |start_ns, stop_ns, activity| {
        match activity {
            // Whoever told this CPU of the victim has been heard by now.
            Activity::Irq(_) | Activity::Softirq(_) | Activity::Expiry(..) => {
                queued = true;
                return;
            }
            Activity::Unknown => {
                end(&gap, start_ns);
                gap = Gap { start_ns: stop_ns, chosen: false };
            }
            Activity::Task(_, prio) if !prio.is_known() || prio.may_run_before(waiting.prio) => {
                end(&gap, start_ns);
                gap = Gap { start_ns: stop_ns, chosen: false };
                queued |= is_switch(base, activity);
            }
            Activity::Task(..) | Activity::Idle(_) | Activity::Polling(_) => {
                if is_switch(base, activity) {
                    gap.chosen |= queued;
                    queued = true;
                }
            }
        }
        base = activity;
    });
    end(&gap, to_ns);
    found
}

fn is_switch(from: Activity, to: Activity) -> bool {
    match (from, to) {
        (Activity::Unknown, _) | (_, Activity::Unknown) => false,
        (Activity::Task(from, _), Activity::Task(to, _)) => from != to,
        _ => from.is_idle() != to.is_idle(),
    }
}
