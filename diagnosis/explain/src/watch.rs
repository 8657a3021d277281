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
    /// The command that the recording was made to watch, where it was for one.
    pub command: Option<Command>,
}

/// A process that was started to become a command. Until it has, it runs the recorder's code.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// The process.
    pub pid: u32,
    /// The names that it has before.
    pub names_before: Vec<Comm>,
}

impl Command {
    /// Whether a thread of this name is the process, and not the command yet.
    fn is_still(&self, task: TaskId, name: Comm) -> bool {
        task.0 == self.pid && self.names_before.contains(&name)
    }
}

impl Watch {
    fn is_default(&self) -> bool {
        !self.all && self.pids.is_empty() && self.comms.is_empty()
    }

    /// Whether a thread is to be explained, from what is known of it.
    pub fn includes(&self, task: TaskId, name: Comm, info: TaskInfo) -> bool {
        if task == TaskId::IDLE || info.has(TaskInfo::OWN) {
            return false;
        }
        if self.is_default() {
            let is_command = self.command.as_ref().is_none_or(|of| !of.is_still(task, name));
            return info.has(TaskInfo::WATCHED) && is_command;
        }
        self.all
            || self.pids.contains(&task.0)
            || self.pids.contains(&info.process.0)
            || self.comms.iter().any(|comm| Comm::new(comm) == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_to_become_the_command_is_not_the_command_yet() {
        let names_before = vec![Comm::new("tardy"), Comm::new("exe")];
        let command = Some(Command { pid: 7, names_before });
        let watch = Watch { command, ..Watch::default() };
        let includes = |task, name| {
            let info = TaskInfo { flags: TaskInfo::WATCHED, ..TaskInfo::default() };
            watch.includes(TaskId(task), Comm::new(name), info)
        };
        assert!(!includes(7, "tardy") && !includes(7, "exe"));
        assert!(includes(7, "sleep"));
        // What the command starts may be called as it likes.
        assert!(includes(8, "exe"));
        assert!(Watch { all: true, ..watch.clone() }.includes(
            TaskId(7),
            Comm::new("exe"),
            TaskInfo::default()
        ));
    }
}
