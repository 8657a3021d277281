//! Under which policies kernel threads run.

use super::threads::Stat;
use crate::probe::Probe;
use crate::root::Root;
use std::collections::BTreeMap;

/// Processes that are looked at at most.
const PROCESSES_MAX: usize = 1 << 16;

/// The process whose children kernel threads are (`kthreadd`).
const KTHREADD: u32 = 2;

/// A kernel thread.
#[derive(Debug)]
pub(crate) struct KernelThread {
    name: String,
    policy: String,
}

/// All there are. Where the kernel lists the children of a thread (`CONFIG_PROC_CHILDREN`), nobody else is looked at:
/// there may be thousands.
pub(crate) fn all(root: &Root) -> Vec<KernelThread> {
    let children = root.text(&format!("proc/{KTHREADD}/task/{KTHREADD}/children"));
    let pids: Vec<String> = match children {
        Some(children) => children.split_whitespace().map(str::to_owned).collect(),
        None => root.names("proc"),
    };
    let is_pid = |name: &&String| name.starts_with(|c: char| c.is_ascii_digit());
    let found = pids.iter().take(PROCESSES_MAX).filter(is_pid).filter_map(|pid| {
        let text = root.text(&format!("proc/{pid}/stat"))?;
        let stat = Stat::parse(&text)?;
        let thread = || KernelThread { policy: stat.policy_in_words(), name: stat.name.to_owned() };
        (stat.parent == KTHREADD).then(thread)
    });
    found.collect()
}

/// Policy and priority of the kernel threads whose names begin with `names`; where they differ, each with how many:
/// `SCHED_FIFO 1 (4), SCHED_OTHER (1)`.
pub(super) fn read(probe: &Probe, names: &str) -> Option<String> {
    let mut policies: BTreeMap<&str, u32> = BTreeMap::new();
    for thread in probe.kernel_threads().iter().filter(|thread| thread.name.starts_with(names)) {
        *policies.entry(&thread.policy).or_default() += 1;
    }
    if policies.len() < 2 {
        return policies.into_keys().next().map(str::to_owned);
    }
    let each = policies.iter().map(|(policy, threads)| format!("{policy} ({threads})"));
    Some(each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        std::fs::write(path, text).expect("it is written");
    }

    fn stat(root: &Path, pid: u32, name: &str, parent: u32) {
        let rest = "0 ".repeat(48);
        write(root, &format!("proc/{pid}/stat"), &format!("{pid} ({name}) S {parent} {rest}\n"));
    }

    fn names(root: &Path) -> Vec<String> {
        all(&Root::at(root)).into_iter().map(|thread| thread.name).collect()
    }

    #[test]
    fn they_are_the_children_of_one_process_whether_it_lists_them_or_not() {
        let folder = tempfile::tempdir().expect("a folder");
        stat(folder.path(), 15, "ksoftirqd/0", 2);
        stat(folder.path(), 16, "rcu_sched", 2);
        stat(folder.path(), 900, "ksoftirqd/0", 1);
        assert_eq!(names(folder.path()), ["ksoftirqd/0", "rcu_sched"]);
        write(folder.path(), "proc/2/task/2/children", "16 900 ");
        assert_eq!(names(folder.path()), ["rcu_sched"]);
    }
}
