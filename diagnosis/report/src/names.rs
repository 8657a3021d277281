//! What culprits and victims are called.

use crate::clean::clean;
use tardy_explain::{Group, Label};

/// A name that stands by itself, clean: `storm-07's timer`, `irq local_timer`.
pub(crate) fn full_name(label: &Label) -> String {
    let name = clean(&label.name);
    match (label.kind, name.is_empty(), label.pid) {
        (_, true, Some(pid)) => format!("task {pid}"),
        (_, true, None) => "unknown".to_owned(),
        ("timer", false, Some(_)) => format!("{name}'s timer"),
        (
            "task" | "kernel_task" | "task_or_interrupt" | "bandwidth" | "idle_state" | "function"
            | "cpu" | "unknown" | "",
            ..,
        ) => name,
        (kind, ..) => format!("{} {name}", kind.replace('_', " ")),
    }
}

/// A kind in words.
pub(crate) fn kind_name(kind: &str) -> String {
    if kind.is_empty() { "unknown".to_owned() } else { kind.replace('_', " ") }
}

/// The thread id, or nothing.
pub(crate) fn pid_text(pid: Option<u32>) -> String {
    pid.map(|pid| pid.to_string()).unwrap_or_default()
}

/// A group in words, clean: `hackbench (400 threads of 40 processes)`.
pub(crate) fn group_name(group: &Group) -> String {
    clean(&group.words())
}
