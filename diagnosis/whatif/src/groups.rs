//! Control groups that may not use all CPU time, and who is in them.

use crate::observed::{Observed, ThreadSeen};
use std::collections::HashMap;
use std::sync::Arc;
use tardy_model::TaskId;
use tardy_model::event::TaskInfo;
use tardy_sim::Group;

/// The groups of a recording, and the place among them of each thread's.
pub(crate) fn groups(observed: &Observed) -> (Vec<Group>, Vec<Option<u32>>) {
    let groups: Vec<Group> = observed
        .bandwidths
        .iter()
        .filter(|(_, (quota_ns, period_ns))| *quota_ns > 0 && *period_ns > 0)
        .map(|(path, (quota_ns, period_ns))| Group {
            name: path.to_string(),
            quota_ns: *quota_ns,
            period_ns: *period_ns,
        })
        .collect();
    // A thread that began later was not told; it is in the group of the thread that began it, mostly.
    let mut of_process: HashMap<TaskId, Arc<str>> = HashMap::new();
    for thread in &observed.threads {
        if let Some(path) = &thread.group {
            of_process.entry(thread.info.process).or_insert_with(|| path.clone());
        }
    }
    let path = |thread: &ThreadSeen| match &thread.group {
        Some(path) => Some(path.clone()),
        None if thread.info.process == TaskId::IDLE => None,
        None => of_process.get(&thread.info.process).cloned(),
    };
    let group = |thread: &ThreadSeen| {
        let path = path(thread).filter(|_| !thread.info.has(TaskInfo::KERNEL))?;
        let around = (0..).zip(&groups).filter(|(_, group)| is_in(&path, &group.name));
        // Groups do not nest in the simulator: the one that gives least counts alone.
        let share = |group: &Group| group.quota_ns as f64 / group.period_ns as f64;
        around.min_by(|(_, a), (_, b)| share(a).total_cmp(&share(b))).map(|(at, _)| at)
    };
    let of_threads = observed.threads.iter().map(group).collect();
    (groups, of_threads)
}

/// Whether the group of a path is another one or below it.
pub(crate) fn is_in(path: &str, group: &str) -> bool {
    let group = group.trim_end_matches('/');
    path.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_in_the_groups_above_it() {
        for (path, group, expected) in [
            ("/a/b", "/a", true),
            ("/a/b", "/a/b", true),
            ("/a/b", "/", true),
            ("/ab", "/a", false),
            ("/a", "/a/b", false),
        ] {
            assert_eq!(is_in(path, group), expected, "{path} in {group}");
        }
    }

    #[test]
    fn threads_are_in_the_tightest_group_around_them_with_their_process() {
        let mut observed = Observed::default();
        let limits =
            [("/a", (50, 100)), ("/a/b", (20, 100)), ("/a/b/c", (90, 100)), ("/x", (0, 100))];
        observed.bandwidths.extend(limits.map(|(path, bandwidth)| (path.into(), bandwidth)));
        let threads = [
            (7, 7, Some("/a/b/c")),
            (8, 7, None),
            (9, 9, Some("/ab")),
            (10, 0, None),
            (11, 11, Some("/x")),
        ];
        for (task, process, path) in threads {
            let thread = observed.thread(TaskId(task)).unwrap();
            thread.info.process = TaskId(process);
            thread.group = path.map(Into::into);
        }
        let (groups, of_threads) = groups(&observed);
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["/a", "/a/b", "/a/b/c"]);
        assert_eq!(of_threads, [Some(1), Some(1), None, None, None]);
    }
}
