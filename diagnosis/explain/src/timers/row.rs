//! Rows as they are handed out.

use super::counts::Counts;
use super::kind::TimerKind;
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

/// A process with the rows of its threads.
#[derive(Clone, Debug, Default)]
pub struct TimerProcess {
    /// The process; `None` for all that have no row of their own.
    pub process: Option<TaskId>,
    /// Its name; empty where it was never told.
    pub name: Comm,
    /// The sums over its rows.
    pub counts: Counts,
    /// Its threads' rows, by their places among those given, in that order.
    pub rows: Vec<usize>,
}

/// The rows of each process together: processes in the order of their first row.
pub fn by_process(rows: &[TimerRow]) -> Vec<TimerProcess> {
    let mut processes: Vec<TimerProcess> = Vec::new();
    let mut places = rustc_hash::FxHashMap::default();
    for (place, row) in rows.iter().enumerate() {
        let process = row.thread.map(|thread| thread.process());
        let at = *places.entry(process).or_insert_with(|| {
            let name = row.thread.map(|thread| thread.process_name).unwrap_or_default();
            processes.push(TimerProcess { process, name, ..TimerProcess::default() });
            processes.len() - 1
        });
        processes[at].counts.add(&row.counts);
        processes[at].rows.push(place);
    }
    processes
}
