//! The control groups in which CPU time is counted: their paths, and how much they may use.

use crate::Definitions;
use std::collections::HashMap;
use std::path::Path;
use tardy_model::event::{GroupBandwidth, TaskGroup};
use tardy_model::{Batch, CpuId, Event, Kind, NameId, TaskId};

/// Groups whose paths are remembered; those beyond are looked up each time. Of so many it is looked up what they may use.
const GROUPS_MAX: usize = 4096;

/// Threads of groups with a bandwidth that are told, at most.
const THREADS_MAX: usize = 1 << 14;

/// Where the hierarchies are.
const HIERARCHIES: &str = "/sys/fs/cgroup";

/// The control groups that may not use all CPU time, and the threads in them.
#[derive(Debug, Default)]
pub struct LimitedGroups {
    looked_at: usize,
    /// Paths, and how much they may use, ns in each ns.
    groups: Vec<(String, u64, u32)>,
    /// With the paths of their own groups.
    threads: Vec<(u32, String)>,
}

impl LimitedGroups {
    /// Those that are there. Groups and threads that come or go meanwhile may be missing.
    pub fn read() -> Self {
        let mut limited = Self::default();
        let unified = Path::new(HIERARCHIES);
        if unified.join("cgroup.controllers").exists() {
            limited.look_below(unified, "", false);
        } else {
            limited.look_below(&unified.join("cpu"), "", false);
        }
        limited
    }

    /// Tells of them, as of `time_ns`.
    pub fn tell(&self, time_ns: u64, definitions: &mut Definitions, batch: &mut Batch) {
        let mut tell = |task, path: &str, kind: &dyn Fn(NameId) -> Kind| {
            let path = definitions.name(if path.is_empty() { "/" } else { path }, batch);
            batch.events.push(Event::new(time_ns, CpuId(0), TaskId(task), kind(path)));
        };
        for (path, quota_ns, period_ns) in &self.groups {
            let (quota_ns, period_ns) = (*quota_ns, *period_ns);
            tell(0, path, &|path| GroupBandwidth { path, quota_ns, period_ns }.into());
        }
        for (thread, path) in &self.threads {
            tell(*thread, path, &|path| TaskGroup { path, throttled: false }.into());
        }
    }

    /// Looks at the group of a folder and those below it. `is_below`: in one that is limited.
    fn look_below(&mut self, folder: &Path, path: &str, is_below: bool) {
        self.looked_at += 1;
        let bandwidth = bandwidth(folder);
        if let Some((quota_ns, period_ns)) = bandwidth {
            self.groups.push((path.to_owned(), quota_ns, period_ns));
        }
        let is_limited = is_below || bandwidth.is_some();
        if is_limited {
            let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
            let text = read("cgroup.threads").or_else(|| read("tasks"));
            let threads = text.iter().flat_map(|text| text.lines());
            let threads = threads.filter_map(|line| Some((line.parse().ok()?, path.to_owned())));
            self.threads.extend(threads.take(THREADS_MAX - self.threads.len().min(THREADS_MAX)));
        }
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_group = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_group && self.looked_at < GROUPS_MAX {
                let name = entry.file_name();
                let path = format!("{path}/{}", name.to_string_lossy());
                self.look_below(&entry.path(), &path, is_limited);
            }
        }
    }
}

/// How much CPU time the group of a folder may use, ns in each ns, by either version's files.
fn bandwidth(folder: &Path) -> Option<(u64, u32)> {
    let word = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let (quota, period) = if let Some(both) = word("cpu.max") {
        let mut words = both.split_whitespace();
        (words.next()?.to_owned(), words.next()?.to_owned())
    } else {
        (word("cpu.cfs_quota_us")?, word("cpu.cfs_period_us")?)
    };
    // Neither "max" nor -1 is a number of microseconds.
    let (quota_us, period_us) =
        (quota.trim().parse::<u64>().ok()?, period.trim().parse::<u32>().ok()?);
    Some((quota_us.checked_mul(1_000)?, period_us.checked_mul(1_000)?))
}

/// The paths of groups that were asked for, by the kernel's number of each.
#[derive(Debug, Default)]
pub struct Groups(HashMap<u64, NameId>);

impl Groups {
    /// The path of group `number`, of which `thread` is a member: none where that has ended.
    pub fn path(
        &mut self,
        number: u64,
        thread: u32,
        definitions: &mut Definitions,
        batch: &mut Batch,
    ) -> NameId {
        if let Some(known) = self.0.get(&number) {
            return *known;
        }
        let text = std::fs::read_to_string(format!("/proc/{thread}/cgroup")).unwrap_or_default();
        let Some(path) = cpu_group(&text) else { return NameId::NONE };
        let id = definitions.name(path, batch);
        if self.0.len() < GROUPS_MAX {
            self.0.insert(number, id);
        }
        id
    }
}

/// The path in the hierarchy that has the CPU controller, from the lines of `/proc/PID/cgroup`:
/// `NUMBER:CONTROLLERS:PATH`, where the second version has number 0 and no controllers.
fn cpu_group(text: &str) -> Option<&str> {
    let mut unified = None;
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) =
            (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if controllers.split(',').any(|name| name == "cpu") {
            return Some(path);
        }
        if number == "0" && controllers.is_empty() {
            unified = Some(path);
        }
    }
    unified
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_with_a_bandwidth_are_found_with_who_is_in_them() {
        let root = std::env::temp_dir().join(format!("tardy-groups-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("cgroup.threads", "1\n");
        write("free/cpu.max", "max 100000\n");
        write("free/cgroup.threads", "7\n");
        write("a/cpu.max", "20000 100000\n");
        write("a/cgroup.threads", "");
        write("a/b/cpu.max", "max 100000\n");
        write("a/b/cgroup.threads", "11\n12\n");
        write("first/cpu.cfs_quota_us", "5000\n");
        write("first/cpu.cfs_period_us", "10000\n");
        write("first/tasks", "13\n");
        write("second/cpu.cfs_quota_us", "-1\n");
        write("second/cpu.cfs_period_us", "10000\n");
        let mut limited = LimitedGroups::default();
        limited.look_below(&root, "", false);
        std::fs::remove_dir_all(&root).unwrap();
        limited.groups.sort();
        limited.threads.sort();
        let group = |path: &str, quota_ns, period_ns| (path.to_owned(), quota_ns, period_ns);
        assert_eq!(
            limited.groups,
            [group("/a", 20_000_000, 100_000_000), group("/first", 5_000_000, 10_000_000)]
        );
        let there = [(11, "/a/b"), (12, "/a/b"), (13, "/first")];
        assert_eq!(limited.threads, there.map(|(thread, path)| (thread, path.to_owned())));
    }

    #[test]
    fn the_cpu_controllers_hierarchy_counts() {
        let mixed = "9:name=systemd:/a\n3:cpuset:/b\n1:cpu,cpuacct:/c:d\n0::/e\n";
        assert_eq!(cpu_group(mixed), Some("/c:d"));
        assert_eq!(cpu_group("0::/user.slice/x.scope\n"), Some("/user.slice/x.scope"));
        assert_eq!(cpu_group("3:cpuset:/b\nnot a line\n"), None);
    }
}
