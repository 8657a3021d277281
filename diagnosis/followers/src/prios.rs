//! The priority at which each task was last seen.

use tardy_model::{Prio, TaskId};

/// Task ids that are kept, as many as Linux has (`PID_MAX_LIMIT`): 8 MB where all are used.
const TASKS_MAX: usize = 1 << 22;

/// By task.
#[derive(Debug, Default)]
pub struct Prios(Vec<Prio>);

impl Prios {
    /// An event tells a task's priority.
    #[inline]
    pub fn set(&mut self, task: TaskId, prio: Prio) {
        let at = task.0 as usize;
        if at >= self.0.len() {
            if at >= TASKS_MAX {
                return;
            }
            self.0.resize(at + 1, Prio::UNKNOWN);
        }
        self.0[at] = prio;
    }

    /// The priority at which a task was last seen, if any event told it.
    #[inline]
    pub fn of(&self, task: TaskId) -> Option<Prio> {
        self.0.get(task.0 as usize).copied().filter(|prio| prio.is_known())
    }
}
