//! The priority at which each task was last seen.

use tardy_model::{Kind, Prio, TaskId};

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

    /// Takes what an event tells of its own task, before that is looked at.
    #[inline]
    pub(crate) fn tells(&mut self, task: TaskId, kind: &Kind) {
        if let Kind::Current(current) = kind
            && current.prio.is_known()
        {
            self.set(task, current.prio);
        }
    }

    /// The priority at which a task was last seen, if any event told it.
    #[inline]
    pub fn of(&self, task: TaskId) -> Option<Prio> {
        self.0.get(task.0 as usize).copied().filter(|prio| prio.is_known())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_priority_that_was_told_counts() {
        let mut prios = Prios::default();
        assert_eq!(prios.of(TaskId(7)), None);
        for prio in [Prio(120), Prio(19), Prio(-1)] {
            prios.set(TaskId(7), prio);
            assert_eq!(prios.of(TaskId(7)), Some(prio));
        }
        assert_eq!(prios.of(TaskId(6)), None, "nothing was told of it");
    }

    #[test]
    fn one_that_is_not_known_any_more_is_none() {
        let mut prios = Prios::default();
        prios.set(TaskId(7), Prio(19));
        prios.set(TaskId(7), Prio::UNKNOWN);
        assert_eq!(prios.of(TaskId(7)), None);
    }

    #[test]
    fn an_id_that_no_task_can_have_takes_no_memory() {
        let mut prios = Prios::default();
        prios.set(TaskId(u32::MAX), Prio(19));
        assert_eq!((prios.of(TaskId(u32::MAX)), prios.0.len()), (None, 0));
    }
}
