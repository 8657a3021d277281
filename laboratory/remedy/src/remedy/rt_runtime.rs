//! The bandwidth of real-time threads.

use super::{Lacking, Remedy};
use crate::place::Form;
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;
use tardy_host::kernel_version::{self, KernelVersion};

pub(super) struct RtRuntime;

/// What each CPU's server may take is a file in a folder for the CPU.
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

    /// Since 6.12 it is a server of ordinary threads that takes CPUs from real-time ones: `off` stops that too, where
    /// it can be reached.
    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let us = |ns: u64| (ns / 1_000).to_string();
        let file = |name: &str, to: &str| {
            system.file(&format!("/proc/sys/kernel/sched_rt_{name}_us"), Form::Word, to)
        };
        let Some((runtime_ns, period_ns)) = change.bandwidth_ns() else {
            let mut settings = file("runtime", "-1")?;
            let servers = system.each((SERVERS, "cpu", "runtime"), "0").unwrap_or_default();
            let cannot = servers.iter().find_map(|server| server.place.read(system.root()).err());
            if let Some(why) = cannot {
                return Err(Lacking::new(format!(
                    "the server for ordinary threads, which takes CPUs from real-time ones, could not be read in \
                     debugfs: {why}"
                )));
            }
            if servers.is_empty() && has_servers(system) {
                return Err(no_servers(system));
            }
            settings.extend(servers);
            return Ok(settings);
        };
        let period = file("period", &us(period_ns))?;
        let is_so = |setting: &Setting| {
            let now = setting.place.read(system.root()).ok().flatten();
            setting.place.holds(now.as_deref(), Some(&setting.to))
        };
        if period.iter().all(is_so) {
            return file("runtime", &us(runtime_ns));
        }
        // Never more than the period in between.
        let mut settings = file("runtime", "-1")?;
        settings.extend(period);
        settings.extend(file("runtime", &us(runtime_ns))?);
        Ok(settings)
    }
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
