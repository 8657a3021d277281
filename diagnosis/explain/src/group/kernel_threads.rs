//! Threads of the kernel, by what they do: all kworkers are one, on whichever CPU.

use super::device::device;
use super::{IRQ_THREADS_OF, Kind, Place, Who};
use crate::label::Labels;
use tardy_model::{Culprit, TaskId};

pub(super) struct KernelThreads;

impl Kind for KernelThreads {
    fn place(&self, who: &Who<'_>) -> Option<Place> {
        let (Culprit::Task(task) | Culprit::SoftirqIn(_, task)) = who.culprit else { return None };
        if task == TaskId::IDLE || !who.labels.is_kernel(task) {
            return None;
        }
        let name = name_of(&who.labels.comm(task).to_string());
        Some(Place { kind: "kernel_task", name, exact: who.label.name.clone() })
    }
}

/// What kernel threads like this one are called together; `None` of a thread that is not the kernel's.
pub(super) fn kind_of(task: TaskId, labels: &Labels) -> Option<String> {
    labels.is_kernel(task).then(|| name_of(&labels.comm(task).to_string()))
}

/// What kernel threads like the one of this name are called together.
pub(super) fn name_of(comm: &str) -> String {
    // `irq/130-eth0-rx-1` is the device's; `kworker/1:2`, `ksoftirqd/0` and `migration/1` are kinds.
    if let Some((_, of)) = comm.strip_prefix("irq/").and_then(|rest| rest.split_once('-')) {
        return format!("{IRQ_THREADS_OF}{}", device(of));
    }
    if comm.starts_with("rcu") {
        return "rcu".to_owned();
    }
    let stem = comm.split_once('/').map_or(comm, |(stem, _)| stem);
    // The level is what tells them apart.
    if stem.starts_with("timer_level") {
        return stem.to_owned();
    }
    let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = stem.trim_end_matches(['.', '-', '_']);
    if stem.is_empty() { comm.to_owned() } else { stem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_kernel_threads() {
        let named =
            ["kworker/1:2-mm", "ksoftirqd/0", "rcuc/1", "rcu_preempt", "kswapd0", "kdamond.0"];
        assert_eq!(named.map(name_of), ["kworker", "ksoftirqd", "rcu", "rcu", "kswapd", "kdamond"]);
        assert_eq!(name_of("timer_level2/1"), "timer_level2");
        assert_eq!(name_of("irq/130-eth0-rx-1"), "irq threads of eth0");
        assert_eq!([name_of("123"), name_of("")], ["123", ""]);
    }
}
