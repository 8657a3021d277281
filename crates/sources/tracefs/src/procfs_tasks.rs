//! Threads that run already when a recording begins.

use crate::decode::KnownTask;
use tardy_model::TaskId;
use tardy_model::event::{Comm, TaskInfo};

/// Every thread that procfs shows, with its process and whether it is the kernel's. Threads that
/// come or go meanwhile may be missing; their own events tell of them.
pub(crate) fn read() -> Vec<KnownTask> {
    let mut known = Vec::new();
    for process in procfs::process::all_processes().into_iter().flatten().flatten() {
        for thread in process.tasks().into_iter().flatten().flatten() {
            let Ok(stat) = thread.stat() else { continue };
            let is_kernel = stat.flags & PF_KTHREAD != 0;
            known.push(KnownTask {
                task: TaskId(thread.tid as u32),
                comm: Comm::new(trace_name(&stat.comm)),
                info: TaskInfo {
                    process: TaskId(thread.pid as u32),
                    flags: if is_kernel { TaskInfo::KERNEL } else { 0 },
                },
            });
        }
    }
    known
}

/// `PF_KTHREAD` (`include/linux/sched.h`).
const PF_KTHREAD: u32 = 0x0020_0000;

/// The name as events show it: procfs adds to a worker's what it works on, `kworker/0:1-events`.
fn trace_name(comm: &str) -> &str {
    match comm.strip_prefix("kworker/") {
        Some(rest) if !rest.starts_with("R-") => {
            let end = rest.find(['-', '+']).map_or(comm.len(), |at| at + "kworker/".len());
            &comm[..end]
        }
        _ => comm,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_called_as_in_traces() {
        assert_eq!(trace_name("kworker/0:1-events"), "kworker/0:1");
        assert_eq!(trace_name("kworker/u8:2+flush-8:0"), "kworker/u8:2");
        assert_eq!(trace_name("kworker/R-rcu_gp"), "kworker/R-rcu_gp");
        assert_eq!(trace_name("my-program"), "my-program");
    }

    #[test]
    fn this_thread_is_among_them() {
        let task = TaskId(rustix::thread::gettid().as_raw_nonzero().get() as u32);
        let me = read().into_iter().find(|known| known.task == task).unwrap();
        assert_eq!(me.info.process.0, std::process::id());
        assert!(!me.info.has(TaskInfo::KERNEL));
    }
}
