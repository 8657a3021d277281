//! The tasks that are there when a recording begins, so that nobody in it is a bare number.

use std::collections::HashMap;
use tardy_model::event::{Comm, TaskInfo, TaskName};
use tardy_model::{CpuId, Event, Kind, TaskId};

/// Kernel threads have this flag in `/proc/PID/stat` (`PF_KTHREAD`).
const PF_KTHREAD: u32 = 0x0020_0000;

/// Flags of [`TaskInfo`] that the recorder knows of threads: its own, those it watches.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// By thread id.
    pub threads: HashMap<u32, u8>,
    /// By process id, for all its threads.
    pub processes: HashMap<u32, u8>,
}

impl Roles {
    fn of(&self, process: u32, thread: u32) -> u8 {
        self.threads.get(&thread).copied().unwrap_or(0)
            | self.processes.get(&process).copied().unwrap_or(0)
    }
}

/// Two events for every thread of the system, stamped `time_ns`. A thread that goes while this
/// reads is left out.
pub fn tasks_now(time_ns: u64, roles: &Roles) -> Vec<Event> {
    let mut events = Vec::new();
    let Ok(processes) = procfs::process::all_processes() else { return events };
    for process in processes.flatten() {
        let pid = process.pid() as u32;
        let Ok(threads) = process.tasks() else { continue };
        for thread in threads.flatten() {
            let Ok(stat) = thread.stat() else { continue };
            let tid = thread.tid as u32;
            let kernel = if stat.flags & PF_KTHREAD == 0 { 0 } else { TaskInfo::KERNEL };
            let flags = kernel | roles.of(pid, tid);
            for kind in [
                Kind::TaskName(TaskName { comm: Comm::new(&stat.comm) }),
                Kind::TaskInfo(TaskInfo { process: TaskId(pid), flags }),
            ] {
                events.push(Event::new(time_ns, CpuId(0), TaskId(tid), kind));
            }
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_this_very_thread_with_its_role() {
        let me = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let process = std::process::id();
        let roles =
            Roles { threads: HashMap::from([(me, TaskInfo::OWN)]), processes: HashMap::new() };
        let events = tasks_now(5, &roles);
        let info = events.iter().find_map(|event| match event.kind() {
            Kind::TaskInfo(info) if event.task == TaskId(me) => Some(info),
            _ => None,
        });
        let expected = TaskInfo { process: TaskId(process), flags: TaskInfo::OWN };
        assert_eq!(info, Some(expected));
    }
}
