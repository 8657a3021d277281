//! Who tasks are, for the names beside events and the process tree.

use super::EVENTS;
use super::file::File;
use crate::ExportError;
use rustc_hash::{FxHashMap, FxHashSet};
use tardy_model::event::{Comm, TaskInfo};
use tardy_model::{Kind, TaskId};
use tardy_perfetto::{Process, ProcessTree, Thread, TracePacket, clock};

/// Tasks that are remembered: Linux has no more (`PID_MAX_LIMIT`). Others have no name.
const TASKS_MAX: usize = 1 << 22;

/// Tasks of which something new is written at a time.
const CHANGED_MAX: usize = 1024;

/// The parent of all kernel threads.
const KTHREADD: i32 = 2;

/// What is known of tasks.
#[derive(Default)]
pub(super) struct Tasks {
    tasks: FxHashMap<TaskId, Task>,
    /// Of whom the trace has not been told all.
    changed: FxHashSet<TaskId>,
    /// When the last of it was told.
    changed_ns: u64,
}

#[derive(Clone, Copy, Default)]
struct Task {
    comm: Option<Comm>,
    info: Option<TaskInfo>,
}

impl Tasks {
    /// Takes what an event says of its task.
    pub(super) fn take(&mut self, time_ns: u64, task: TaskId, kind: Kind) {
        let (comm, info) = match kind {
            Kind::TaskName(name) => (Some(name.comm), None),
            Kind::TaskInfo(info) => (None, Some(info)),
            _ => return,
        };
        if self.tasks.len() >= TASKS_MAX && !self.tasks.contains_key(&task) {
            return;
        }
        let known = self.tasks.entry(task).or_default();
        known.comm = comm.or(known.comm);
        known.info = info.or(known.info);
        if task != TaskId::IDLE && known.info.is_some() {
            self.changed.insert(task);
            self.changed_ns = time_ns;
        }
    }

    /// A task is gone: what is new of it is told before.
    pub(super) fn exit(
        &mut self,
        task: TaskId,
        time_ns: u64,
        file: &mut File,
    ) -> Result<(), ExportError> {
        if self.changed.contains(&task) {
            if self.changed_ns >= time_ns {
                // In the same nanosecond nobody could tell which came first.
                self.changed.remove(&task);
            }
            self.write(file)?;
        }
        if let Some(known) = self.tasks.get_mut(&task) {
            known.info = None;
        }
        Ok(())
    }

    /// A task's name in bytes, where it has one.
    pub(super) fn name(&self, task: TaskId) -> Option<Vec<u8>> {
        self.tasks.get(&task)?.comm.map(bytes)
    }

    /// The process of a task; itself where that is not known.
    pub(super) fn process(&self, task: TaskId) -> TaskId {
        let info = self.tasks.get(&task).and_then(|known| known.info);
        info.map_or(task, |info| info.process)
    }

    /// Whether enough is new to be written.
    pub(super) fn is_due(&self) -> bool {
        self.changed.len() >= CHANGED_MAX
    }

    /// Writes what is new as a process tree.
    pub(super) fn write(&mut self, file: &mut File) -> Result<(), ExportError> {
        if self.changed.is_empty() {
            return Ok(());
        }
        let mut tree = ProcessTree::default();
        let mut changed: Vec<TaskId> = self.changed.drain().collect();
        changed.sort_unstable();
        let mut processes = FxHashSet::default();
        for task in changed {
            let Some(Task { comm, info: Some(info) }) = self.tasks.get(&task).copied() else {
                continue;
            };
            let leader = self.tasks.get(&info.process).copied().unwrap_or_default();
            if processes.insert(info.process) {
                let pid = info.process.0 as i32;
                let is_kernel = leader.info.unwrap_or(info).has(TaskInfo::KERNEL);
                tree.processes.push(Process {
                    pid: Some(pid),
                    ppid: (is_kernel && pid != KTHREADD).then_some(KTHREADD),
                    cmdline: leader.comm.map(bytes).into_iter().collect(),
                    is_kthread: Some(is_kernel),
                    cmdline_is_comm: Some(true),
                });
            }
            tree.threads.push(Thread {
                tid: Some(task.0 as i32),
                name: comm.map(bytes),
                tgid: Some(info.process.0 as i32),
            });
        }
        file.packet(&TracePacket {
            timestamp: Some(self.changed_ns),
            timestamp_clock_id: Some(clock::MONOTONIC),
            trusted_packet_sequence_id: Some(EVENTS),
            process_tree: Some(tree),
            ..TracePacket::default()
        })
    }
}

fn bytes(comm: Comm) -> Vec<u8> {
    comm.0.iter().copied().take_while(|byte| *byte != 0).collect()
}
