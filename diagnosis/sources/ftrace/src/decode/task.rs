//! Who tasks are: names from wherever an event shows one, processes of new threads.

use super::{Known, Record, State};
use rustc_hash::FxHashMap;
use std::collections::HashSet;
use tardy_model::event::{Comm, TaskExit, TaskGroup, TaskInfo, TaskName};
use tardy_model::{Batch, CpuId, Event, Kind, TaskId};

pub(super) const EVENTS: &[Known] = &[
    Known {
        group: "sched",
        event: "sched_process_exec",
        variant: 0,
        fields: &["pid", "old_pid"],
        decode: exec,
    },
    Known {
        group: "sched",
        event: "sched_process_exit",
        variant: 0,
        fields: &["pid"],
        decode: exit,
    },
    Known {
        group: "task",
        event: "task_newtask",
        variant: 0,
        fields: &["pid", "comm", "clone_flags"],
        decode: new,
    },
    Known {
        group: "task",
        event: "task_rename",
        variant: 0,
        fields: &["pid", "newcomm"],
        decode: rename,
    },
];

/// Where a recording of tardy's own asks procfs.
pub(super) const IMPORTED_EVENTS: &[Known] = &[Known {
    group: "cgroup",
    event: "cgroup_attach_task",
    variant: 0,
    fields: &["pid", "dst_path"],
    decode: attach,
}];

/// A task is put into a control group. With more hierarchies than one it may be that of another
/// controller than the CPU's, which no field tells.
fn attach(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let task = record.task(0)?;
    let path = String::from_utf8_lossy(record.text(1)?).into_owned();
    let path = state.definitions.name(&path, batch);
    Some(record.event_of(task, TaskGroup { path, throttled: false }))
}

/// Tasks of which something has been told. At most [`TASKS_MAX`]; beyond, names are told each time.
#[derive(Default)]
pub(super) struct Tasks {
    known: FxHashMap<TaskId, KnownTask>,
    watched_processes: HashSet<TaskId>,
    watch_children_of: Option<TaskId>,
}

#[derive(Clone, Copy, Default)]
struct KnownTask {
    comm: Comm,
    info: Option<TaskInfo>,
}

/// Linux has no more threads than this (`PID_MAX_LIMIT`).
const TASKS_MAX: usize = 1 << 22;

/// `CLONE_THREAD`.
const SAME_PROCESS: u64 = 0x0001_0000;

/// The parent of all kernel threads.
const KTHREADD: TaskId = TaskId(2);

impl Tasks {
    pub(super) fn introduce(&mut self, event: &Event) {
        let known = self.known.get(&event.task).copied().unwrap_or_default();
        match event.kind() {
            Kind::TaskName(name) => self.keep(event.task, KnownTask { comm: name.comm, ..known }),
            Kind::TaskInfo(info) => self.keep(event.task, KnownTask { info: Some(info), ..known }),
            _ => {}
        }
    }

    pub(super) fn watch(&mut self, processes: HashSet<TaskId>, children_of: Option<TaskId>) {
        self.watched_processes = processes;
        self.watch_children_of = children_of;
    }

    /// Whether a new thread of `process`, started by a thread of process `parent`, is watched.
    fn is_watched(&mut self, task: TaskId, process: TaskId, parent: TaskId) -> bool {
        if task == process {
            // A process that had this id before has gone.
            self.watched_processes.remove(&process);
            let is_child = self
                .watch_children_of
                .is_some_and(|of| of == parent || self.watched_processes.contains(&parent));
            if is_child && self.watched_processes.len() < TASKS_MAX {
                self.watched_processes.insert(process);
            }
        }
        self.watched_processes.contains(&process)
    }

    /// The task in field `pid`, whose name is in field `comm`; tells the name where it is new.
    pub(super) fn see(
        &mut self,
        record: &Record<'_>,
        pid: usize,
        comm: usize,
        batch: &mut Batch,
    ) -> Option<TaskId> {
        let task = record.task(pid)?;
        // Every CPU has an idle task of its own name, all with the id 0.
        if task != TaskId::IDLE
            && let Some(text) = record.text(comm)
        {
            self.name(record, task, text, batch);
        }
        Some(task)
    }

    fn name(&mut self, record: &Record<'_>, task: TaskId, text: &[u8], batch: &mut Batch) {
        self.name_at(record.time_ns, task, text, batch);
    }

    /// Tells the name where it is new.
    pub(super) fn name_at(&mut self, time_ns: u64, task: TaskId, text: &[u8], batch: &mut Batch) {
        let mut comm = Comm::default();
        let kept = text.len().min(15);
        comm.0[..kept].copy_from_slice(&text[..kept]);
        let known = self.known.get(&task).copied();
        if known.is_none_or(|known| known.comm != comm) {
            self.keep(task, KnownTask { comm, info: known.and_then(|known| known.info) });
            batch.events.push(Event::new(time_ns, CpuId(0), task, TaskName { comm }.into()));
        }
    }

    pub(super) fn is_named(&self, task: TaskId) -> bool {
        self.known.get(&task).is_some_and(|known| known.comm != Comm::default())
    }

    /// What is known of a task, from now on with these flags too.
    pub(super) fn add_flags(&mut self, task: TaskId, flags: u8) -> TaskInfo {
        let known = self.known.get(&task).copied().unwrap_or_default();
        let info = known.info.unwrap_or(TaskInfo { process: task, flags: 0 });
        let info = TaskInfo { flags: info.flags | flags, ..info };
        self.keep(task, KnownTask { info: Some(info), ..known });
        info
    }

    fn info(&self, task: TaskId) -> Option<TaskInfo> {
        self.known.get(&task)?.info
    }

    fn keep(&mut self, task: TaskId, known: KnownTask) {
        if self.known.len() < TASKS_MAX || self.known.contains_key(&task) {
            self.known.insert(task, known);
        }
    }
}

/// A new task: its process is the parent's or its own, kernel threads beget kernel threads, and it is
/// watched as its process is.
fn new(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    // The id may have been another task's: tell the name even if it is the same.
    state.tasks.known.remove(&record.task(0)?);
    let task = state.tasks.see(record, 0, 1, batch)?;
    let parent = state.tasks.info(record.current);
    let parent_process = parent.map_or(record.current, |parent| parent.process);
    let process = if record.number(2)? & SAME_PROCESS == 0 { task } else { parent_process };
    let is_kernel =
        record.current == KTHREADD || parent.is_some_and(|parent| parent.has(TaskInfo::KERNEL));
    let mut flags = if is_kernel { TaskInfo::KERNEL } else { 0 };
    if state.tasks.is_watched(task, process, parent_process) {
        flags |= TaskInfo::WATCHED;
    }
    let info = TaskInfo { process, flags };
    if let Some(known) = state.tasks.known.get_mut(&task) {
        known.info = Some(info);
    }
    Some(record.event_of(task, info))
}

/// A program begins in an old task, under the id of its process, and is no kernel thread any more
/// if it was one (user mode helpers begin so).
fn exec(state: &mut State, record: &Record<'_>, _: &mut Batch) -> Option<Event> {
    let task = record.task(0)?;
    let flags = state.tasks.info(task).map_or(0, |info| info.flags) & !TaskInfo::KERNEL;
    let info = TaskInfo { process: task, flags };
    if let Some(known) = state.tasks.known.get_mut(&task) {
        known.info = Some(info);
    }
    Some(record.event_of(task, info))
}

fn exit(state: &mut State, record: &Record<'_>, _: &mut Batch) -> Option<Event> {
    let task = record.task(0)?;
    // The name stays until the id comes again: the task still has to switch out, and telling its
    // name there would bring it back to life.
    if let Some(known) = state.tasks.known.get_mut(&task) {
        known.info = None;
    }
    Some(record.event_of(task, TaskExit))
}

fn rename(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let task = record.task(0).unwrap_or(record.current);
    let text = record.text(1)?;
    let before = batch.events.len();
    state.tasks.name(record, task, text, batch);
    // Renamed to what it is called already: nothing new, and told once more does no harm.
    if batch.events.len() == before {
        Some(record.event_of(task, TaskName { comm: state.tasks.known.get(&task)?.comm }))
    } else {
        batch.events.pop()
    }
}
