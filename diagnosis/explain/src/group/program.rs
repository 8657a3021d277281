//! Threads, by the program that they belong to.

use super::family::family;
use super::kernel_threads;
use super::{Kind, NAMELESS, OR_INTERRUPT, Place, Who};
use crate::label::Labels;
use tardy_model::{Culprit, TaskId};

/// A program is a process with its threads, and all processes of the same name. The victims' own program would
/// be no answer: there, threads are told apart by their names. Where a trace does not tell of processes, a
/// thread's name is all there is.
pub(super) struct Program;

impl Kind for Program {
    fn place(&self, who: &Who<'_>) -> Option<Place> {
        let (task, suffix) = match who.culprit {
            Culprit::Task(task) | Culprit::SoftirqIn(_, task) => (task, ""),
            Culprit::TaskOrInterrupt(task) => (task, OR_INTERRUPT),
            _ => return None,
        };
        if task == TaskId::IDLE {
            return None;
        }
        let own = who.label.name.strip_suffix(suffix).unwrap_or(&who.label.name);
        let (name, exact) = program(task, own, who.labels);
        let kind = if suffix.is_empty() { "task" } else { "task_or_interrupt" };
        Some(Place { kind, name: name + suffix, exact: exact + suffix })
    }
}

/// What the kernel calls a process that was started from `/proc/self/exe`, as container runtimes start themselves and
/// tardy its loads, until it takes its own name.
const UNTIL_NAMED: &str = "exe";

/// What the program of a thread is called, and what it is called where only threads of that very name are
/// meant. `own` is the thread's name, at the time.
pub(super) fn program(task: TaskId, own: &str, labels: &Labels) -> (String, String) {
    if let Some(kind) = kernel_threads::kind_of(task, labels) {
        return (kind, own.to_owned());
    }
    if own.is_empty() || labels.comm(task).is_empty() {
        let name = NAMELESS.to_owned();
        return (name.clone(), name);
    }
    let taken;
    let own = if own == UNTIL_NAMED {
        taken = labels.comm(task).to_string();
        &taken
    } else {
        own
    };
    let by_name = || (family(own), own.to_owned());
    let Some(process) = labels.process(task).filter(|process| *process != task) else {
        return by_name();
    };
    let program = labels.comm(process).to_string();
    if program.is_empty() || labels.is_victims(process) {
        return by_name();
    }
    let exact = if program == own { program.clone() } else { format!("{program}'s {own}") };
    (family(&program), exact)
}
