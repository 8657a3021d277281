//! The bandwidth of real-time threads.

use super::{Lacking, Remedy};
use crate::place::Form;
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;
use tardy_host::kernel_version::{self, KernelVersion};

pub(super) struct RtRuntime;

/// What each CPU's server may take, and of which time, are files in a folder for the CPU, in nanoseconds.
const SERVERS: &str = "/sys/kernel/debug/sched/fair_server";

/// From this version on there are servers, and the bandwidth alone stops no thread.
const FIRST_WITH_SERVERS: KernelVersion = (6, 12);

impl Remedy for RtRuntime {
    fn name(&self) -> &'static str {
        "rt-runtime"
    }

    fn price(&self) -> &'static str {
        "A real-time thread that never sleeps then takes its CPU for good, and a shell with it."
    }

    fn needs(&self) -> &'static str {
        "root; from Linux 6.12 on debugfs too, where the server for ordinary threads is set"
    }

    /// Since 6.12 it is a server of ordinary threads that takes CPUs from real-time ones: what these leave of the period is
    /// that one's runtime, and none of it with `off`.
    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let us = |ns: u64| (ns / 1_000).to_string();
        let file = |name: &str, to: &str| {
            system.file(&format!("/proc/sys/kernel/sched_rt_{name}_us"), Form::Word, to)
        };
        let Some((runtime_ns, period_ns)) = change.bandwidth_ns() else {
            let mut settings = file("runtime", "-1")?;
            settings.extend(servers(system, "runtime", "0")?);
            return Ok(settings);
        };
        let period = file("period", &us(period_ns))?;
        let mut settings = Vec::new();
        if !are_so(&period, system) {
            // Never more than the period in between.
            settings.extend(file("runtime", "-1")?);
            settings.extend(period);
        }
        settings.extend(file("runtime", &us(runtime_ns))?);
        let its_period = servers(system, "period", &period_ns.to_string())?;
        if !are_so(&its_period, system) {
            settings.extend(servers(system, "runtime", "0")?);
            settings.extend(its_period);
        }
        let left_ns = period_ns.saturating_sub(runtime_ns);
        settings.extend(servers(system, "runtime", &left_ns.to_string())?);
        Ok(settings)
    }
}

fn are_so(settings: &[Setting], system: &System) -> bool {
    settings.iter().all(|setting| {
        let now = setting.place.read(system.root()).ok().flatten();
        setting.place.holds(now.as_deref(), Some(&setting.to))
    })
}

/// A file of each CPU's server; none where the kernel is older than they are.
fn servers(system: &System, file: &str, to: &str) -> Result<Vec<Setting>, Lacking> {
    let servers = system.each((SERVERS, "cpu", file), to).unwrap_or_default();
    let cannot = servers.iter().find_map(|server| server.place.read(system.root()).err());
    if let Some(why) = cannot {
        return Err(Lacking::new(format!(
            "the server for ordinary threads, which takes CPUs from real-time ones, could not be read in debugfs: {why}"
        )));
    }
    if servers.is_empty() && has_servers(system) {
        return Err(no_servers(system));
    }
    Ok(servers)
}

fn has_servers(system: &System) -> bool {
    let release = system.root().word("proc/sys/kernel/osrelease").unwrap_or_default();
    kernel_version::parse(&release).is_some_and(|version| version >= FIRST_WITH_SERVERS)
}

/// What takes CPUs from real-time threads cannot be reached: to set the rest would change nothing.
fn no_servers(system: &System) -> Lacking {
    let what = "from Linux 6.12 on it is a server for ordinary threads that takes CPUs from real-time ones, and it is set \
                in debugfs";
    if system.root().names("sys/kernel/debug").is_empty() {
        return Lacking::new(format!(
            "{what}, which cannot be seen here: mount it (mount -t debugfs none /sys/kernel/debug; umount it afterwards)"
        ));
    }
    Lacking::new(format!("{what}; there is no {SERVERS} in this kernel (CONFIG_SCHED_DEBUG)"))
}
