//! The control groups in which CPU time is counted: their paths, what they weigh, and how much they may use.

use crate::Definitions;
use std::collections::HashMap;
use std::path::Path;
use tardy_model::event::{GroupBandwidth, GroupWeight, TaskGroup};
use tardy_model::{Batch, CpuId, Event, Kind, NameId, TaskId, weight};

/// Groups whose paths are remembered; those beyond are looked up each time. Of so many it is looked up what they weigh and
/// may use.
const GROUPS_MAX: usize = 4096;

/// Threads of such groups that are told, at most.
const THREADS_MAX: usize = 1 << 14;

/// Where the hierarchies are.
const HIERARCHIES: &str = "/sys/fs/cgroup";

/// What tells that the kernel makes groups of sessions.
const AUTOGROUP: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// A control group, or a session.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    path: String,
    /// As a thread of nice 0 has 1024.
    weight: Option<u32>,
    /// How much CPU time it may use, ns in each ns.
    bandwidth: Option<(u64, u32)>,
}

/// The control groups by which CPU time is shared or limited, and the threads in them: what they weigh, how much they may
/// use. Sessions are such groups, too, where the kernel makes them so.
#[derive(Debug, Default)]
pub struct CpuGroups {
    looked_at: usize,
    groups: Vec<Group>,
    /// With the paths of their own groups.
    threads: Vec<(u32, String)>,
}

impl CpuGroups {
    /// Those that are there. Groups and threads that come or go meanwhile may be missing.
    pub fn read() -> Self {
        let mut found = Self::default();
        let unified = Path::new(HIERARCHIES);
        let root = if unified.join("cgroup.controllers").exists() {
            unified.to_owned()
        } else {
            unified.join("cpu")
        };
        found.look_below(&root, "", false);
        if std::fs::read_to_string(AUTOGROUP).is_ok_and(|text| text.trim() == "1") {
            // Those of other groups are in no session's.
            for thread in threads_of(&root) {
                let text = std::fs::read_to_string(format!("/proc/{thread}/autogroup"));
                found.is_in_session(thread, &text.unwrap_or_default());
            }
        }
        found
    }

    /// Tells of them, as of `time_ns`.
    pub fn tell(&self, time_ns: u64, definitions: &mut Definitions, batch: &mut Batch) {
        let mut tell = |task, path: &str, kind: &dyn Fn(NameId) -> Kind| {
            let path = definitions.name(if path.is_empty() { "/" } else { path }, batch);
            batch.events.push(Event::new(time_ns, CpuId(0), TaskId(task), kind(path)));
        };
        for Group { path, weight, bandwidth } in &self.groups {
            if let Some((quota_ns, period_ns)) = *bandwidth {
                tell(0, path, &|path| GroupBandwidth { path, quota_ns, period_ns }.into());
            }
            if let Some(weight) = *weight {
                tell(0, path, &|path| GroupWeight { path, weight }.into());
            }
        }
        for (thread, path) in &self.threads {
            tell(*thread, path, &|path| TaskGroup { path, throttled: false }.into());
        }
    }

    /// Looks at the group of a folder and those below it. `is_below`: in one that counts.
    fn look_below(&mut self, folder: &Path, path: &str, is_below: bool) {
        self.looked_at += 1;
        // All that there is weighs against nothing.
        let weight = weight(folder).filter(|_| !path.is_empty());
        let bandwidth = bandwidth(folder);
        let counts = weight.is_some() || bandwidth.is_some();
        if counts {
            self.groups.push(Group { path: path.to_owned(), weight, bandwidth });
        }
        if is_below || counts {
            for thread in threads_of(folder) {
                self.is_in(thread, path);
            }
        }
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_group = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_group && self.looked_at < GROUPS_MAX {
                let name = entry.file_name();
                let path = format!("{path}/{}", name.to_string_lossy());
                self.look_below(&entry.path(), &path, is_below || counts);
            }
        }
    }

    fn is_in(&mut self, thread: u32, path: &str) {
        if self.threads.len() < THREADS_MAX {
            self.threads.push((thread, path.to_owned()));
        }
    }

    /// What `/proc/THREAD/autogroup` says: `/autogroup-25 nice 0`, or nothing of a kernel thread.
    fn is_in_session(&mut self, thread: u32, text: &str) {
        let Some((path, nice)) = text.trim().split_once(" nice ") else { return };
        let weight = nice.parse().ok().map(weight::of_nice);
        if weight.is_some()
            && self.groups.len() < GROUPS_MAX
            && !self.groups.iter().any(|group| group.path == path)
        {
            self.groups.push(Group { path: path.to_owned(), weight, bandwidth: None });
        }
        self.is_in(thread, path);
    }
}

/// The threads in the group of a folder.
fn threads_of(folder: &Path) -> Vec<u32> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let text = read("cgroup.threads").or_else(|| read("tasks")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// What the group of a folder weighs, by either version's files (`sched_weight_from_cgroup`).
fn weight(folder: &Path) -> Option<u32> {
    let number = |name: &str| -> Option<u32> {
        std::fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok()
    };
    if number("cpu.idle") == Some(1) {
        return Some(weight::IDLE);
    }
    number("cpu.weight").map(weight::of_cpu_weight).or_else(|| number("cpu.shares"))
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
    fn groups_that_weigh_or_are_limited_are_found_with_who_is_in_them() {
        let root = std::env::temp_dir().join(format!("tardy-groups-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("cgroup.threads", "1\n");
        write("cpu.shares", "1024\n");
        write("free/cgroup.threads", "7\n");
        write("heavy/cpu.max", "max 100000\n");
        write("heavy/cpu.weight", "150\n");
        write("heavy/cgroup.threads", "8\n");
        write("idle/cpu.weight", "0\n");
        write("idle/cpu.idle", "1\n");
        write("a/cpu.max", "20000 100000\n");
        write("a/cgroup.threads", "");
        write("a/b/cgroup.threads", "11\n12\n");
        write("first/cpu.cfs_quota_us", "5000\n");
        write("first/cpu.cfs_period_us", "10000\n");
        write("first/cpu.shares", "512\n");
        write("first/tasks", "13\n");
        write("second/cpu.cfs_quota_us", "-1\n");
        write("second/cpu.cfs_period_us", "10000\n");
        let mut found = CpuGroups::default();
        found.look_below(&root, "", false);
        std::fs::remove_dir_all(&root).unwrap();
        found.is_in_session(20, "/autogroup-7 nice 0\n");
        found.is_in_session(21, "/autogroup-7 nice 0\n");
        found.is_in_session(22, "/autogroup-8 nice 5\n");
        found.is_in_session(23, "");
        found.groups.sort();
        found.threads.sort();
        let group =
            |path: &str, weight, bandwidth| Group { path: path.to_owned(), weight, bandwidth };
        assert_eq!(
            found.groups,
            [
                group("/a", None, Some((20_000_000, 100_000_000))),
                group("/autogroup-7", Some(1024), None),
                group("/autogroup-8", Some(335), None),
                group("/first", Some(512), Some((5_000_000, 10_000_000))),
                group("/heavy", Some(1536), None),
                group("/idle", Some(3), None),
            ]
        );
        let there = [
            (8, "/heavy"),
            (11, "/a/b"),
            (12, "/a/b"),
            (13, "/first"),
            (20, "/autogroup-7"),
            (21, "/autogroup-7"),
            (22, "/autogroup-8"),
        ];
        assert_eq!(found.threads, there.map(|(thread, path)| (thread, path.to_owned())));
    }

    #[test]
    fn the_cpu_controllers_hierarchy_counts() {
        let mixed = "9:name=systemd:/a\n3:cpuset:/b\n1:cpu,cpuacct:/c:d\n0::/e\n";
        assert_eq!(cpu_group(mixed), Some("/c:d"));
        assert_eq!(cpu_group("0::/user.slice/x.scope\n"), Some("/user.slice/x.scope"));
        assert_eq!(cpu_group("3:cpuset:/b\nnot a line\n"), None);
    }
}
