//! What several checks need, read once.

use crate::calls::Calls;
use crate::command_line::CommandLine;
use crate::kernel_config::KernelConfig;
use crate::kernel_version::{self, KernelVersion};
use crate::preemption::Preemption;
use crate::privileges::Privileges;
use crate::root::Root;
use crate::settings::kernel_threads::{self, KernelThread};
use crate::virtualisation::Virtualisation;
use std::cell::OnceCell;
use tardy_changes::CpuList;

/// Everything that checks may look at.
pub(crate) struct Probe {
    pub(crate) root: Root,
    pub(crate) calls: Calls,
    pub(crate) version: Option<KernelVersion>,
    pub(crate) config: KernelConfig,
    pub(crate) command_line: CommandLine,
    pub(crate) cpus: CpuList,
    /// CPUs taken out of load balancing.
    pub(crate) isolated: CpuList,
    /// CPUs whose tick stops while one thread runs.
    pub(crate) nohz_full: CpuList,
    pub(crate) preemption: Preemption,
    pub(crate) privileges: Privileges,
    pub(crate) virtualisation: Virtualisation,
    kernel_threads: OnceCell<Vec<KernelThread>>,
}

impl Probe {
    pub(crate) fn new(root: Root, calls: Calls) -> Self {
        let config = KernelConfig::read(&root, &calls.release);
        let command_line = CommandLine::parse(&root.text("proc/cmdline").unwrap_or_default());
        let list = |name: &str| {
            let text = root.text(&format!("sys/devices/system/cpu/{name}"))?;
            CpuList::parse(&text)
        };
        let cpus = list("online")
            .filter(|cpus| !cpus.is_empty())
            .unwrap_or_else(|| CpuList::first(calls.cpus_usable.max(1)));
        Self {
            version: kernel_version::parse(&calls.release),
            cpus,
            isolated: list("isolated").unwrap_or_default(),
            nohz_full: list("nohz_full").unwrap_or_default(),
            preemption: Preemption::read(&root, &calls.version, &config, &command_line),
            privileges: Privileges::read(&root, &calls),
            virtualisation: Virtualisation::read(&root, &calls.arch),
            kernel_threads: OnceCell::new(),
            config,
            command_line,
            root,
            calls,
        }
    }

    /// The kernel's own threads, looked for when somebody first asks.
    pub(crate) fn kernel_threads(&self) -> &[KernelThread] {
        self.kernel_threads.get_or_init(|| kernel_threads::all(&self.root))
    }

    /// Whether the kernel is at least this old; `false` where its version cannot be read.
    pub(crate) fn is_before(&self, version: KernelVersion) -> bool {
        self.version.is_some_and(|own| own < version)
    }

    /// Ticks per second, where the configuration is known.
    pub(crate) fn hz(&self) -> Option<u32> {
        self.config.value("HZ")?.parse().ok().filter(|hz| (1..=10_000).contains(hz))
    }

    /// Whether timers have a resolution below a tick.
    pub(crate) fn has_high_resolution(&self) -> Option<bool> {
        match self.calls.clock_resolution_ns {
            0 => None,
            // A tick is a millisecond at least (HZ ≤ 1000); one nanosecond is high resolution.
            ns => Some(ns < 100_000),
        }
    }
}
