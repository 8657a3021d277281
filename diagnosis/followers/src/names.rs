//! Which tasks run softirqs in a context of their own, which the scheduler may preempt.

use rustc_hash::FxHashSet;
use tardy_model::event::Comm;
use tardy_model::{Prio, TaskId};

/// Threads that run softirqs and are remembered; a machine has two for each CPU and one for each interrupt.
const THREADS_MAX: usize = 1 << 16;

/// The kernel's threads that run softirqs, by the names that it gives them (`kernel/softirq.c`,
/// `kernel/irq/manage.c`); `ktimersoftd` was a patch of `PREEMPT_RT` before 5.0.
const PREFIXES: [&str; 4] = ["ksoftirqd/", "ktimers/", "ktimersoftd/", "irq/"];

/// The thread that stops each CPU (`kernel/stop_machine.c`).
const STOPPER: &[u8] = b"migration/";

/// Who runs softirqs in a thread, and who stops CPUs.
#[derive(Debug, Default)]
pub struct Names {
    threads: FxHashSet<TaskId>,
    /// The threads that stop a CPU for others' sake.
    stoppers: FxHashSet<TaskId>,
    /// On `PREEMPT_RT` every softirq runs in some task's context.
    all: bool,
}

impl Names {
    pub(crate) fn see(&mut self, task: TaskId, name: Comm) {
        let is_one = PREFIXES.iter().any(|prefix| name.0.starts_with(prefix.as_bytes()));
        if name.0.starts_with(STOPPER) {
            if self.stoppers.len() < THREADS_MAX {
                self.stoppers.insert(task);
            }
        } else {
            self.stoppers.remove(&task);
        }
        if !is_one {
            self.threads.remove(&task);
        } else if self.threads.len() < THREADS_MAX {
            self.threads.insert(task);
            self.all |= name.0.starts_with(b"ktimers");
        }
    }

    pub(crate) fn gone(&mut self, task: TaskId) {
        self.threads.remove(&task);
        self.stoppers.remove(&task);
    }

    /// The priority at which a task runs, by the one that events show: stoppers show that of FIFO 99, and
    /// are above every class (`kernel/sched/stop_task.c`).
    #[inline]
    pub(crate) fn prio(&self, task: TaskId, shown: Prio) -> Prio {
        if shown.0 == 0 && self.stoppers.contains(&task) { Prio::STOP } else { shown }
    }

    /// A switch came in the middle of a softirq.
    pub(crate) fn softirqs_are_preempted(&mut self) {
        self.all = true;
    }

    /// Whether a softirq that begins while `task` is current runs in its context; `after_irq` where it begins
    /// right after an interrupt has ended, which else runs them itself.
    pub(crate) fn runs_softirqs(&self, task: TaskId, after_irq: bool) -> bool {
        task != TaskId::IDLE && (self.all || !after_irq && self.threads.contains(&task))
    }
}
