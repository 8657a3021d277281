//! Threads' names as a stream tells them.

use rustc_hash::FxHashMap;
use tardy_model::event::Comm;
use tardy_model::{Event, Kind, TaskId};

/// Linux has no more threads than this (`PID_MAX_LIMIT`); names beyond are not remembered.
const NAMES_MAX: usize = 1 << 22;

/// Names of threads, as of the last event.
#[derive(Debug, Default)]
pub(crate) struct Names(FxHashMap<TaskId, Comm>);

impl Names {
    /// Takes note of what an event tells.
    pub(crate) fn see(&mut self, event: &Event) {
        if let Kind::TaskName(name) = event.kind()
            && (self.0.len() < NAMES_MAX || self.0.contains_key(&event.task))
        {
            self.0.insert(event.task, name.comm);
        }
    }

    /// A thread's name, where it is known.
    pub(crate) fn get(&self, task: TaskId) -> Option<Comm> {
        self.0.get(&task).copied()
    }
}
