//! A control group whose CPUs nobody else has: a cpuset partition that is `isolated` at run time.

use std::fs;
use std::io;
use tardy_host::Root;

/// The unified hierarchy, where the kernel's partitions are.
pub(crate) const HIERARCHY: &str = "/sys/fs/cgroup";

/// The one that tardy makes. It is of the outermost groups: only those may be partitions on every kernel that has them.
pub(crate) const PARTITION: &str = "/sys/fs/cgroup/tardy-isolated";

const CPUS: &str = "cpuset.cpus";
const STATE: &str = "cpuset.cpus.partition";
const PROCESSES: &str = "cgroup.procs";

/// As often those are moved out that were made meanwhile.
const ROUNDS_MAX: usize = 16;

/// Its CPUs; empty where it was not finished; `None` where there is none.
pub(super) fn read(root: &Root, path: &str) -> Option<String> {
    root.exists(path).then(|| root.word(&format!("{path}/{CPUS}")).unwrap_or_default())
}

/// Makes it, with these CPUs; it is whole or not there.
pub(super) fn make(root: &Root, path: &str, cpus: &str) -> io::Result<()> {
    let folder = root.path(path);
    match fs::create_dir(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let made = fs::write(folder.join(CPUS), cpus)
        .and_then(|()| fs::write(folder.join(STATE), "isolated"))
        .and_then(|()| {
            let state = root.word(&format!("{path}/{STATE}")).unwrap_or_default();
            if state == "isolated" {
                Ok(())
            } else {
                Err(io::Error::other(format!("it is {state}")))
            }
        });
    if made.is_err() {
        let _ = take_away(root, path);
    }
    made
}

/// Takes it away. Processes that were made in it are where their parents are.
pub(super) fn take_away(root: &Root, path: &str) -> io::Result<()> {
    let folder = root.path(path);
    if !folder.exists() {
        return Ok(());
    }
    for _ in 0..ROUNDS_MAX {
        let inside = root.text(&format!("{path}/{PROCESSES}")).unwrap_or_default();
        let inside: Vec<u32> = inside.lines().filter_map(|line| line.trim().parse().ok()).collect();
        if inside.is_empty() {
            break;
        }
        for process in inside {
            // Who has ended meanwhile is in it no more.
            let _ = join(root, process, &outside(process, path));
        }
    }
    // Its CPUs go back at once, even where somebody is still in it.
    let _ = fs::write(folder.join(STATE), "member");
    fs::remove_dir(&folder)
}

/// The group of the nearest ancestor that is not in this one.
fn outside(process: u32, path: &str) -> String {
    let own = path.strip_prefix(HIERARCHY).unwrap_or(path);
    let parent = |process: u32| {
        let stat = procfs::process::Process::new(process.cast_signed()).ok()?.stat().ok()?;
        u32::try_from(stat.ppid).ok().filter(|parent| *parent > 0)
    };
    let ancestors = std::iter::successors(parent(process), |process| parent(*process));
    let mut groups = ancestors.filter_map(of);
    groups.find(|group| group != own).unwrap_or_else(|| "/".to_owned())
}

/// The group of a process in the unified hierarchy; `None` where it has none.
pub(super) fn of(process: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned)
}

/// Moves a process into a group.
pub(super) fn join(root: &Root, process: u32, group: &str) -> io::Result<()> {
    let group = group.trim_end_matches('/');
    fs::write(root.path(&format!("{HIERARCHY}{group}/{PROCESSES}")), process.to_string())
}
