//! Settings that a recording keeps, so that two recordings can be compared.

use crate::preemption::SWITCH;
use crate::probe::Probe;
use std::collections::BTreeMap;

/// Files with one value, by the name under which it is kept.
const FILES: [(&str, &str); 14] = [
    ("kernel.sched_rt_period_us", "proc/sys/kernel/sched_rt_period_us"),
    ("kernel.sched_rt_runtime_us", "proc/sys/kernel/sched_rt_runtime_us"),
    ("kernel.timer_migration", "proc/sys/kernel/timer_migration"),
    ("kernel.numa_balancing", "proc/sys/kernel/numa_balancing"),
    ("kernel.watchdog", "proc/sys/kernel/watchdog"),
    ("net.core.bpf_jit_enable", "proc/sys/net/core/bpf_jit_enable"),
    ("timer_slack_ns", "proc/self/timerslack_ns"),
    ("cpuidle.driver", "sys/devices/system/cpu/cpuidle/current_driver"),
    ("cpuidle.governor", "sys/devices/system/cpu/cpuidle/current_governor"),
    ("cpufreq.governor", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ("smt.control", "sys/devices/system/cpu/smt/control"),
    ("transparent_hugepage", "sys/kernel/mm/transparent_hugepage/enabled"),
    ("cpu.isolated", "sys/devices/system/cpu/isolated"),
    ("sched.preempt", SWITCH),
];

/// Options of the kernel's command line. Others may tell of things that are nobody's business.
const OPTIONS: [&str; 18] = [
    "clocksource",
    "cpuidle.off",
    "highres",
    "idle",
    "intel_idle.max_cstate",
    "irqaffinity",
    "isolcpus",
    "mitigations",
    "nohz",
    "nohz_full",
    "nosmt",
    "preempt",
    "processor.max_cstate",
    "rcu_nocbs",
    "skew_tick",
    "threadirqs",
    "tsc",
    "cpufreq.default_governor",
];

/// Those that are there, by name.
pub(crate) fn read(probe: &Probe) -> BTreeMap<String, String> {
    let files =
        FILES.iter().filter_map(|(name, path)| Some(((*name).to_owned(), probe.root.word(path)?)));
    let options = OPTIONS.iter().filter_map(|name| {
        let value = probe.command_line.value(name)?;
        Some((format!("cmdline.{name}"), value.chars().take(256).collect()))
    });
    files.chain(options).collect()
}
