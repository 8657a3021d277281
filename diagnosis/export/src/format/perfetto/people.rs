//! Who tasks are, for the names beside events and the process tree.

use super::EVENTS;
use super::file::File;
use crate::ExportError;
use rustc_hash::{FxHashMap, FxHashSet};
use tardy_model::event::{Comm, TaskInfo};
use tardy_model::{Kind, TaskId};
use tardy_perfetto::{Process, ProcessTree, Thread, TracePacket, clock};

/// Tasks that are remembered: Linux has no more (`PID_MAX_LIMIT`). Others have no name.
const PEOPLE_MAX: usize = 1 << 22;

/// Tasks of which something new is written at a time.
const NEWS_MAX: usize = 1024;

/// The parent of all kernel threads.
const KTHREADD: i32 = 2;

/// What is known of tasks.
#[derive(Default)]
pub(super) struct People {
    people: FxHashMap<TaskId, Person>,
    /// Of whom the trace has not been told all.
    news: FxHashSet<TaskId>,
    /// When the last of it was told.
    news_ns: u64,
}

#[derive(Clone, Copy, Default)]
struct Person {
    comm: Option<Comm>,
    info: Option<TaskInfo>,
}

impl People {
    /// Takes what an event says of its task.
    pub(super) fn take(&mut self, time_ns: u64, task: TaskId, kind: Kind) {
        let (comm, info) = match kind {
            Kind::TaskName(name) => (Some(name.comm), None),
            Kind::TaskInfo(info) => (None, Some(info)),
            _ => return,
        };
        if self.people.len() >= PEOPLE_MAX && !self.people.contains_key(&task) {
            return;
        }
        let person = self.people.entry(task).or_default();
        person.comm = comm.or(person.comm);
        person.info = info.or(person.info);
        if task != TaskId::IDLE && person.info.is_some() {
            self.news.insert(task);
            self.news_ns = time_ns;
        }
    }

    /// A task is gone: what is new of it is told before.
    pub(super) fn exit(
        &mut self,
        task: TaskId,
        time_ns: u64,
        file: &mut File,
    ) -> Result<(), ExportError> {
        if self.news.contains(&task) {
            if self.news_ns >= time_ns {
                // In the same nanosecond nobody could tell which came first.
                self.news.remove(&task);
            }
            self.write(file)?;
        }
        if let Some(person) = self.people.get_mut(&task) {
            person.info = None;
        }
        Ok(())
    }

    /// A task's name in bytes, where it has one.
    pub(super) fn name(&self, task: TaskId) -> Option<Vec<u8>> {
        self.people.get(&task)?.comm.map(bytes)
    }

    /// The process of a task; itself where that is not known.
    pub(super) fn process(&self, task: TaskId) -> TaskId {
        let info = self.people.get(&task).and_then(|person| person.info);
        info.map_or(task, |info| info.process)
    }

    /// Whether enough is new to be written.
    pub(super) fn is_due(&self) -> bool {
        self.news.len() >= NEWS_MAX
    }

    /// Writes what is new as a process tree.
    pub(super) fn write(&mut self, file: &mut File) -> Result<(), ExportError> {
        if self.news.is_empty() {
            return Ok(());
        }
        let mut tree = ProcessTree::default();
        let mut news: Vec<TaskId> = self.news.drain().collect();
        news.sort_unstable();
        let mut processes = FxHashSet::default();
        for task in news {
            let Some(Person { comm, info: Some(info) }) = self.people.get(&task).copied() else {
                continue;
            };
            let leader = self.people.get(&info.process).copied().unwrap_or_default();
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
            timestamp: Some(self.news_ns),
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
