//! The bandwidth of real-time threads.

use super::{Lacking, Remedy};
use crate::place::Form;
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

pub(super) struct RtRuntime;

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
            let servers = ("/sys/kernel/debug/sched/fair_server", "cpu", "runtime");
            let servers = system.each(servers, "0").unwrap_or_default();
            let cannot = servers.iter().find_map(|server| server.place.read(system.root()).err());
            if let Some(why) = cannot {
                return Err(Lacking::new(format!(
                    "the server for ordinary threads, which takes CPUs from real-time ones, could not be read in \
                     debugfs: {why}"
                )));
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
