//! The priority at which each task was last seen.

use tardy_model::{Prio, TaskId};

/// Task ids that are kept, as many as Linux has (`PID_MAX_LIMIT`): 16 MB where all are used.
const TASKS_MAX: usize = 1 << 22;

#[derive(Debug, Default)]
pub(crate) struct Prios(Vec<Option<Prio>>);

impl Prios {
    #[inline]
    pub(crate) fn set(&mut self, task: TaskId, prio: Prio) {
        let at = task.0 as usize;
        if at >= self.0.len() {
            if at >= TASKS_MAX {
                return;
            }
            self.0.resize(at + 1, None);
        }
        self.0[at] = Some(prio);
    }

    pub(crate) fn of(&self, task: TaskId) -> Option<Prio> {
        self.0.get(task.0 as usize).copied().flatten()
    }
}
