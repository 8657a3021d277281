//! What a recording's manifest says of the machine it was made on.

use crate::probe::Probe;
use crate::settings;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Facts of a machine, without judgement. Texts come from the system: data, whatever they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Kernel release, as `uname -r`.
    pub release: String,
    /// Kernel version, as `uname -v`.
    pub version: String,
    /// Machine, as `uname -m`.
    pub arch: String,
    /// Host name.
    pub hostname: String,
    /// CPUs online, as the kernel lists them: `0-3,8`.
    pub cpus_online: String,
    /// How many those are.
    pub cpus: u32,
    /// The processor's name, where it has one.
    pub cpu_model: Option<String>,
    /// The hypervisor where this is a guest.
    pub hypervisor: Option<String>,
    /// The preemption model: `PREEMPT_RT`, `PREEMPT_DYNAMIC (none)`.
    pub preemption: String,
    /// Whether the kernel is `PREEMPT_RT`.
    pub realtime: bool,
    /// Ticks per second, where known.
    pub hz: Option<u32>,
    /// What the kernel reads the time from, where known.
    pub clock_source: Option<String>,
    /// Settings that bear on lateness, as they stood: sysctls by their name, files by their path,
    /// options of the command line behind `cmdline.`.
    pub settings: BTreeMap<String, String>,
}

impl Facts {
    pub(crate) fn of(probe: &Probe) -> Self {
        let calls = &probe.calls;
        Self {
            release: calls.release.clone(),
            version: calls.version.clone(),
            arch: calls.arch.clone(),
            hostname: calls.hostname.clone(),
            cpus_online: probe.cpus.to_string(),
            cpus: probe.cpus.len() as u32,
            cpu_model: cpu_model(probe),
            hypervisor: probe.virtualisation.hypervisor().map(str::to_owned),
            preemption: probe.preemption.to_string(),
            realtime: probe.preemption.realtime,
            hz: probe.hz(),
            clock_source: probe
                .root
                .word("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            settings: settings::read(probe),
        }
    }
}

/// x86 names each CPU's model; a board with a device tree names itself.
fn cpu_model(probe: &Probe) -> Option<String> {
    const CHARS_MAX: usize = 256;
    let text = probe.root.text("proc/cpuinfo").unwrap_or_default();
    let named = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        (name.trim() == "model name" && !value.is_empty())
            .then(|| value.chars().take(CHARS_MAX).collect())
    });
    named.or_else(|| probe.root.word("proc/device-tree/model"))
}
