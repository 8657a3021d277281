//! What a machine hides from every eBPF program.
//!
//! Some sandboxes run no eBPF program while a thread of their own process 1 has the CPU: not for
//! its system calls, not for the interrupts meanwhile, not even for the switch away from it. A
//! recording then shows such a thread switched in and nothing until somebody else runs. A wakeup
//! in there can be told by nobody. Elsewhere the switch away follows, and nothing is hidden.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tardy_model::event::TaskInfo;
use tardy_model::{Batch, CpuId, Kind, TaskId};
use tardy_recording::Recording;

const PROCESS_1: TaskId = TaskId(1);

/// Stretches of a recording in which a CPU's events are hidden.
#[derive(Default)]
pub(crate) struct Hidden {
    stretches: Vec<(CpuId, u64, u64)>,
}

impl Hidden {
    pub(crate) fn in_recording(folder: &Path) -> Self {
        let mut recording = Recording::open(folder).expect("a recording");
        let (mut hidden, mut batch) = (Self::default(), Batch::default());
        let mut threads = BTreeSet::from([PROCESS_1]);
        // CPUs on which such a thread was switched in, since when.
        let mut since: BTreeMap<CpuId, (TaskId, u64)> = BTreeMap::new();
        while recording.read(&mut batch).expect("a good recording") {
            for event in &batch.events {
                match event.kind() {
                    Kind::TaskInfo(TaskInfo { process: PROCESS_1, .. }) => {
                        threads.insert(event.task);
                    }
                    // These are told by user space.
                    Kind::TaskInfo(_) | Kind::TaskName(_) | Kind::Mark(_) => {}
                    kind => {
                        let before = since.remove(&event.cpu);
                        if let Some((task, start_ns)) = before
                            && task != event.task
                        {
                            hidden.stretches.push((event.cpu, start_ns, event.time_ns));
                        }
                        if let Kind::Switch(switch) = kind
                            && threads.contains(&switch.next)
                        {
                            since.insert(event.cpu, (switch.next, event.time_ns));
                        }
                    }
                }
            }
            batch.clear();
        }
        hidden
    }

    /// Whether something of `cpu` between two times is hidden.
    pub(crate) fn touches(&self, cpu: u16, from_ns: u64, to_ns: u64) -> bool {
        self.stretches
            .iter()
            .any(|(on, start_ns, end_ns)| on.0 == cpu && *start_ns <= to_ns && *end_ns >= from_ns)
    }
}
