//! Whose wakeups are explained.

use tardy_model::TaskId;
use tardy_model::event::{Comm, TaskInfo};

/// Whose wakeups are explained. What is chosen adds up; nothing chosen means those that the
/// recording was made to watch.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Every thread but the idle tasks and tardy's own.
    pub all: bool,
    /// Threads, or all threads of processes, by id.
    pub pids: Vec<u32>,
    /// Threads with exactly this name.
    pub comms: Vec<String>,
}

impl Watch {
    fn is_default(&self) -> bool {
        !self.all && self.pids.is_empty() && self.comms.is_empty()
    }

    /// Whether a thread is to be explained, from what is known of it.
    pub(crate) fn includes(&self, task: TaskId, name: Comm, info: TaskInfo) -> bool {
        if task == TaskId::IDLE || info.has(TaskInfo::OWN) {
            return false;
        }
        if self.is_default() {
            return info.has(TaskInfo::WATCHED);
        }
        self.all
            || self.pids.contains(&task.0)
            || self.pids.contains(&info.process.0)
            || self.comms.iter().any(|comm| Comm::new(comm) == name)
    }
}
