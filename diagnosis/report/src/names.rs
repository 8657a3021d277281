//! What culprits and victims are called.

use crate::clean::clean;
use tardy_explain::Label;

/// A name that stands by itself, clean: `storm-07's timer`, `irq local_timer`.
pub(crate) fn full_name(label: &Label) -> String {
    let name = clean(&label.name);
    match (label.kind, name.is_empty(), label.pid) {
        (_, true, Some(pid)) => format!("task {pid}"),
        (_, true, None) => "nobody known".to_owned(),
        ("timer", false, Some(_)) => format!("{name}'s timer"),
        (
            "task" | "kernel_task" | "task_or_interrupt" | "bandwidth" | "idle_state" | "function"
            | "cpu" | "unknown" | "",
            ..,
        ) => name,
        (kind, ..) => format!("{} {name}", kind.replace('_', " ")),
    }
}

/// The name for a column beside one for the kind.
pub(crate) fn short_name(label: &Label) -> String {
    if label.name.is_empty() { full_name(label) } else { clean(&label.name) }
}

/// A kind in words.
pub(crate) fn kind_words(label: &Label) -> String {
    if label.kind.is_empty() { "unknown".to_owned() } else { label.kind.replace('_', " ") }
}

/// The thread id, or nothing.
pub(crate) fn pid_text(pid: Option<u32>) -> String {
    pid.map(|pid| pid.to_string()).unwrap_or_default()
}
