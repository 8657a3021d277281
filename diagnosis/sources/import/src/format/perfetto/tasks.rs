//! Who tasks are, by the process trees in a trace.

use super::clocks::{Clocks, StampClock};
use std::collections::HashMap;
use tardy_ftrace::decode::Decoder;
use tardy_model::event::TaskInfo;
use tardy_model::{Batch, CpuId, Event, Kind, TaskId};
use tardy_perfetto::ProcessTree;

/// Entries of process trees that are kept; a trace tells of each thread once or a few times.
const ENTRIES_MAX: usize = 1 << 20;

/// Processes of which it is kept whether they are the kernel's.
const PROCESSES_MAX: usize = 1 << 20;

/// Tasks of which it is kept what was told last: Linux has no more (`PID_MAX_LIMIT`).
const TASKS_MAX: usize = 1 << 22;

/// The parent of all kernel threads.
const KTHREADD: i32 = 2;

/// What process trees say, in the order in which they say it.
#[derive(Debug, Default)]
pub(super) struct Tree {
    entries: Vec<Said>,
    kernel: HashMap<u32, bool>,
}

#[derive(Debug)]
struct Said {
    clock: StampClock,
    time_ns: u64,
    task: TaskId,
    process: TaskId,
    is_kernel: bool,
    name: Vec<u8>,
}

impl Tree {
    pub(super) fn take(&mut self, message: &ProcessTree, clock: StampClock, stamp_ns: u64) {
        for process in &message.processes {
            let pid = process.pid() as u32;
            let is_kernel =
                process.is_kthread() || process.pid() == KTHREADD || process.ppid() == KTHREADD;
            if self.kernel.len() < PROCESSES_MAX || self.kernel.contains_key(&pid) {
                self.kernel.insert(pid, is_kernel);
            }
            let name = match process.cmdline.first() {
                Some(name) if process.cmdline_is_comm() => name.clone(),
                // A command line is no thread's name.
                _ => Vec::new(),
            };
            self.push(clock, stamp_ns, pid, pid, name);
        }
        for thread in &message.threads {
            let (task, process) = (thread.tid() as u32, thread.tgid() as u32);
            self.push(clock, stamp_ns, task, process, thread.name().to_vec());
        }
    }

    fn push(&mut self, clock: StampClock, time_ns: u64, task: u32, process: u32, name: Vec<u8>) {
        if task != 0 && self.entries.len() < ENTRIES_MAX {
            let is_kernel = self.kernel.get(&process).copied().unwrap_or(false);
            let (task, process) = (TaskId(task), TaskId(process));
            self.entries.push(Said { clock, time_ns, task, process, is_kernel, name });
        }
    }

    /// Puts everything on `CLOCK_MONOTONIC`, last first.
    pub(super) fn into_tasks(mut self, clocks: &Clocks) -> Tasks {
        for entry in &mut self.entries {
            entry.time_ns = clocks.monotonic_ns(entry.clock, entry.time_ns);
        }
        self.entries.sort_by_key(|entry| entry.time_ns);
        self.entries.reverse();
        Tasks { to_tell: self.entries, sent: HashMap::new() }
    }
}

/// What has been told of tasks, and what process trees still have to tell.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// Last first.
    to_tell: Vec<Said>,
    sent: HashMap<TaskId, TaskInfo>,
}

impl Tasks {
    /// When the next entry of a process tree is due; `u64::MAX` where there is none any more.
    pub(super) fn due_ns(&self) -> u64 {
        self.to_tell.last().map_or(u64::MAX, |entry| entry.time_ns)
    }

    /// Tells what is due before `time_ns`, as of no earlier than `not_before_ns`.
    pub(super) fn tell(
        &mut self,
        time_ns: u64,
        not_before_ns: u64,
        decoder: &mut Decoder,
        batch: &mut Batch,
    ) {
        while self.due_ns() < time_ns
            && let Some(entry) = self.to_tell.pop()
        {
            let at_ns = entry.time_ns.max(not_before_ns);
            if !entry.name.is_empty() {
                decoder.name_task(at_ns, entry.task, &entry.name, batch);
            }
            let known = self.sent.get(&entry.task).copied();
            let kernel = if entry.is_kernel { TaskInfo::KERNEL } else { 0 };
            let flags = known.map_or(0, |info| info.flags) & !TaskInfo::KERNEL | kernel;
            let info = TaskInfo { process: entry.process, flags };
            // What an event has told stands, where it says the same.
            if self.is_new(entry.task, info) {
                let event = Event::new(at_ns, CpuId(0), entry.task, Kind::TaskInfo(info));
                decoder.introduce(&[event]);
                batch.events.push(event);
            }
        }
    }

    /// Whether this is not what was told last of the task; keeps it.
    pub(super) fn is_new(&mut self, task: TaskId, info: TaskInfo) -> bool {
        if self.sent.get(&task) == Some(&info) {
            return false;
        }
        if self.sent.len() < TASKS_MAX || self.sent.contains_key(&task) {
            self.sent.insert(task, info);
        }
        true
    }

    /// The task is gone.
    pub(super) fn forget(&mut self, task: TaskId) {
        self.sent.remove(&task);
    }
}
