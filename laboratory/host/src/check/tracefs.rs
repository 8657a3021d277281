//! Whether the kernel's own tracer is at hand.

use super::Finding;
use crate::privileges::Cap;
use crate::probe::Probe;

/// The most mounts that are looked through.
const MOUNTS_MAX: usize = 10_000;

/// Where the kernel's tracer can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Mounted here, and its events can be seen.
    Mounted(String),
    /// Mounted here, closed to this user.
    Closed(String),
    /// The kernel has it and this user may mount it.
    Mountable,
    /// The kernel has it; somebody else must mount it.
    NotMounted,
    /// The kernel does not have it.
    Missing,
}

impl Access {
    /// Looks for it.
    pub(crate) fn read(probe: &Probe) -> Self {
        let mounts = probe.root.text("proc/self/mounts").unwrap_or_default();
        let is_open = |folder: &String| probe.root.exists(&format!("{folder}/events/sched"));
        let folders: Vec<String> = mounts
            .lines()
            .take(MOUNTS_MAX)
            .filter_map(|line| {
                let mut fields = line.split_whitespace().skip(1);
                let (folder, kind) = (fields.next()?, fields.next()?);
                match kind {
                    "tracefs" => Some(folder.to_owned()),
                    // Before 4.1 it was a part of debugfs, and a mount on it still is reached so.
                    "debugfs" => Some(format!("{folder}/tracing")),
                    _ => None,
                }
            })
            .filter(|folder| probe.root.exists(folder))
            .collect();
        // Any that is open will do; one that is closed is told of where there is no better.
        if let Some(folder) = folders.iter().find(|folder| is_open(folder)) {
            return Self::Mounted(folder.clone());
        }
        if let Some(folder) = folders.into_iter().next() {
            return Self::Closed(folder);
        }
        let kinds = probe.root.text("proc/filesystems").unwrap_or_default();
        if !kinds.split_whitespace().any(|kind| kind == "tracefs") {
            Self::Missing
        } else if probe.privileges.has(Cap::SysAdmin) {
            Self::Mountable
        } else {
            Self::NotMounted
        }
    }
}

/// The command that mounts it.
pub(crate) const MOUNT: &str = "mount -t tracefs nodev /sys/kernel/tracing";

pub(super) fn check(probe: &Probe) -> Finding {
    let why = "The kernel's own tracer is the way to explain lateness if eBPF is not available.";
    match Access::read(probe) {
        Access::Mounted(folder) => Finding::good(folder, why),
        Access::Mountable => Finding::good("not mounted; can be", why).change(MOUNT),
        Access::Closed(folder) => Finding::notice(format!("{folder}, not for this user"), why)
            .change("sudo, or mount -o remount,gid=GROUP,mode=750 on it"),
        Access::NotMounted => Finding::notice("not mounted", why).change(format!("sudo {MOUNT}")),
        Access::Missing => Finding::notice("not in this kernel", why)
            .change("a kernel with CONFIG_FTRACE=y and CONFIG_ENABLE_DEFAULT_TRACERS=y"),
    }
}
