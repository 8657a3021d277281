//! Control groups, by which CPU time is shared and limited, and who is in them.

use crate::observed::{Observed, ThreadSeen};
use std::collections::HashMap;
use std::sync::Arc;
use tardy_model::TaskId;
use tardy_model::event::TaskInfo;
use tardy_sim::Group;

/// Threads that began each other, of which one is in the group of the other, at most.
const GENERATIONS_MAX: usize = 64;

/// The groups of a recording that limit or have threads, and the place among them of each thread's.
pub(crate) fn groups(observed: &Observed) -> (Vec<Group>, Vec<Option<u32>>) {
    let paths = paths(observed);
    let mut groups: Vec<Group> = Vec::new();
    // Each comes after those around it.
    for (path, seen) in &observed.groups {
        let has_threads = || paths.iter().flatten().any(|of_thread| is_in(of_thread, path));
        if seen.bandwidth.is_some() || seen.weight.is_some() && has_threads() {
            let within = around(&groups, path);
            let name = path.to_string();
            groups.push(Group { name, within, weight: seen.weight, bandwidth: seen.bandwidth });
        }
    }
    let of_threads = paths.iter().map(|path| around(&groups, path.as_deref()?)).collect();
    (groups, of_threads)
}

/// The innermost group around a path.
fn around(groups: &[Group], path: &str) -> Option<u32> {
    groups.iter().rposition(|group| is_in(path, &group.name)).map(|at| at as u32)
}

/// The path of each thread's group, where it is known. One that began later was not told: it is in the group of its
/// process, or of the thread that began that, mostly.
fn paths(observed: &Observed) -> Vec<Option<Arc<str>>> {
    let mut of_process: HashMap<TaskId, Arc<str>> = HashMap::new();
    for thread in &observed.threads {
        if let Some(path) = &thread.group {
            of_process.entry(thread.info.process).or_insert_with(|| path.clone());
        }
    }
    let told = |thread: &ThreadSeen| match &thread.group {
        Some(path) => Some(path.clone()),
        None if thread.info.process == TaskId::IDLE => None,
        None => of_process.get(&thread.info.process).cloned(),
    };
    let path = |thread: &ThreadSeen| {
        let parent = |of: &&ThreadSeen| observed.threads.get(of.begun_by? as usize);
        let line = std::iter::successors(Some(thread), parent).take(GENERATIONS_MAX);
        // The kernel's threads are in none, and so is whoever they began.
        let mut line = line.take_while(|thread| !thread.info.has(TaskInfo::KERNEL));
        line.find_map(told)
    };
    observed.threads.iter().map(path).collect()
}

/// Whether the group of a path is another one or below it.
pub(crate) fn is_in(path: &str, group: &str) -> bool {
    let group = group.trim_end_matches('/');
    path.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::GroupSeen;
    use tardy_sim::Bandwidth;

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

    fn observed(groups: &[(&str, GroupSeen)], threads: &[(u32, u32, Option<&str>)]) -> Observed {
        let mut observed = Observed::default();
        observed.groups.extend(groups.iter().map(|(path, seen)| ((*path).into(), *seen)));
        for (task, process, path) in threads {
            let thread = observed.thread(TaskId(*task)).unwrap();
            thread.info.process = TaskId(*process);
            thread.group = path.map(Into::into);
        }
        observed
    }

    fn limit(percent: u64) -> GroupSeen {
        let bandwidth = Some(Bandwidth { runtime_ns: percent, period_ns: 100 });
        GroupSeen { bandwidth, ..GroupSeen::default() }
    }

    fn weight(weight: u32) -> GroupSeen {
        GroupSeen { weight: Some(weight), ..GroupSeen::default() }
    }

    #[test]
    fn threads_are_in_the_groups_around_them_with_their_process() {
        let observed = observed(
            &[("/a", limit(50)), ("/a/b", limit(20)), ("/a/b/c", limit(90))],
            &[
                (7, 7, Some("/a/b/c")),
                (8, 7, None),
                (9, 9, Some("/ab")),
                (10, 0, None),
                (11, 11, Some("/a/x")),
            ],
        );
        let (groups, of_threads) = groups(&observed);
        let names: Vec<_> =
            groups.iter().map(|group| (group.name.as_str(), group.within)).collect();
        assert_eq!(names, [("/a", None), ("/a/b", Some(0)), ("/a/b/c", Some(1))]);
        assert_eq!(of_threads, [Some(2), Some(2), None, None, Some(0)]);
    }

    #[test]
    fn groups_without_threads_weigh_nothing_and_children_are_where_their_parents_are() {
        let mut observed = observed(
            &[("/autogroup-1", weight(1024)), ("/autogroup-2", weight(1024)), ("/c", weight(9))],
            &[(7, 7, Some("/autogroup-2")), (8, 8, None), (9, 9, None), (10, 10, Some("/c/d"))],
        );
        observed.threads[1].begun_by = Some(0);
        observed.threads[2].begun_by = Some(1);
        let (groups, of_threads) = groups(&observed);
        let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["/autogroup-2", "/c"]);
        assert_eq!(of_threads, [Some(0), Some(0), Some(0), Some(1)]);
        observed.threads[1].info.flags = TaskInfo::KERNEL;
        assert_eq!(super::groups(&observed).1, [Some(0), None, None, Some(1)]);
    }
}
