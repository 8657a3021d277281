//! Rows as they are handed out.

use super::counts::Counts;
use super::kind::TimerKind;
use crate::group::program_name;
use rustc_hash::{FxHashMap, FxHashSet};
use tardy_model::TaskId;
use tardy_model::event::{Comm, TaskInfo};

/// The thread that armed timers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimerThread {
    /// Its id; [`TaskId::IDLE`] for the kernel itself: timers that no thread armed, or nobody knows who.
    pub task: TaskId,
    /// Which of the threads that have had this id: 0 is the first.
    pub number: u32,
    /// Its name, as last heard; empty where it was never told.
    pub name: Comm,
    /// What else is known of it.
    pub info: TaskInfo,
    /// The name of its process.
    pub process_name: Comm,
}

impl TimerThread {
    /// The process; the thread itself where that was not told.
    pub fn process(&self) -> TaskId {
        if self.info.process == TaskId::IDLE { self.task } else { self.info.process }
    }
}

/// What one thread's timers of one kind did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimerRow {
    /// Who armed them; `None` for the row of all that have none of their own.
    pub thread: Option<TimerThread>,
    /// What they are for; `None` for the row of all others.
    pub kind: Option<TimerKind>,
    /// The kernel's function that they call; empty where it is not known.
    pub function: String,
    /// What was counted.
    pub counts: Counts,
}

impl TimerRow {
    /// What the timers are for, in words.
    pub fn what(&self) -> String {
        self.kind.map(|kind| kind.words(&self.function)).unwrap_or_default()
    }
}

/// Everything that was found of a stream's timers.
#[derive(Clone, Debug, Default)]
pub struct TimerFindings {
    /// The rows, that of all others last.
    pub rows: Vec<TimerRow>,
    /// From the first event to the last.
    pub span_ns: u64,
}

/// A program with the rows of its threads: a process, or all processes of one name.
#[derive(Clone, Debug, Default)]
pub struct TimerProgram {
    /// What it is called; empty where that was never told.
    pub name: String,
    /// The process, where it is only one; [`TaskId::IDLE`] for the kernel itself.
    pub process: Option<TaskId>,
    /// How many processes it has; 0 for all that have no row of their own.
    pub processes: u64,
    /// The sums over its rows.
    pub counts: Counts,
    /// Its threads' rows, by their places among those given, in that order.
    pub rows: Vec<usize>,
}

/// What tells programs apart.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Others,
    /// Without a name a process is by itself.
    Process(TaskId),
    Name(bool, String),
}

impl Key {
    fn of(row: &TimerRow) -> Self {
        let Some(thread) = row.thread else { return Self::Others };
        let process = thread.process();
        if process == TaskId::IDLE || thread.process_name.is_empty() {
            return Self::Process(process);
        }
        let is_kernel = thread.info.has(TaskInfo::KERNEL);
        Self::Name(is_kernel, program_name(&thread.process_name.to_string(), is_kernel))
    }
}

/// The rows of each program together: programs in the order of their first row.
pub fn by_program(rows: &[TimerRow]) -> Vec<TimerProgram> {
    let mut programs: Vec<(TimerProgram, FxHashSet<TaskId>)> = Vec::new();
    let mut places = FxHashMap::default();
    for (place, row) in rows.iter().enumerate() {
        let at = *places.entry(Key::of(row)).or_insert_with(|| {
            programs.push(Default::default());
            programs.len() - 1
        });
        let (program, processes) = &mut programs[at];
        if let Some(thread) = row.thread {
            let name = thread.process_name.to_string();
            if processes.is_empty() {
                program.name = name;
            } else if program.name != name {
                program.name = program_name(&name, thread.info.has(TaskInfo::KERNEL));
            }
            processes.insert(thread.process());
        }
        program.counts.add(&row.counts);
        program.rows.push(place);
    }
    let with_processes = |(program, processes): (TimerProgram, FxHashSet<TaskId>)| {
        let mut ids = processes.iter().copied();
        let process = ids.next().filter(|_| ids.next().is_none());
        TimerProgram { process, processes: processes.len() as u64, ..program }
    };
    programs.into_iter().map(with_processes).collect()
}
