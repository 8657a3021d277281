//! Settings that a recording and an experiment keep, so that two of them can be compared.
//!
//! [`SETTINGS`] is the one list; a setting is a line in it. What a system does not have, or does not tell, is left
//! out. Settings of single threads are read by [`of_threads`], as they come and go.

mod command_line;
mod each_cpu;
mod idle_states;
pub(crate) mod kernel_threads;
mod packages;
mod threads;

pub use threads::{Threads, ids_of_threads, of_threads};

use crate::preemption::SWITCH;
use crate::probe::Probe;
use std::collections::BTreeMap;

/// Where a setting is read.
enum Place {
    /// The first line of a file.
    File(&'static str),
    /// Of the words of a file, the one in brackets.
    Chosen(&'static str),
    /// A file that each CPU has below its folder: the value of all, or the values and whose they are.
    EachCpu(&'static str),
    /// An option of the kernel's command line.
    Boot(&'static str),
    /// Kernel threads whose names begin so: policy and priority.
    KernelThreads(&'static str),
    /// The version of a package.
    Package(&'static str),
    /// Something that is worked out.
    Found(fn(&Probe) -> Option<String>),
}

use Place::{Boot, Chosen, EachCpu, File, Found, KernelThreads, Package};

/// All settings, by the name under which each is kept.
const SETTINGS: &[(&str, Place)] = &[
    ("clockevent.device", File("sys/devices/system/clockevents/clockevent0/current_device")),
    ("clocksource", File("sys/devices/system/clocksource/clocksource0/current_clocksource")),
    ("cmdline.clocksource", Boot("clocksource")),
    ("cmdline.cpufreq.default_governor", Boot("cpufreq.default_governor")),
    ("cmdline.cpuidle.off", Boot("cpuidle.off")),
    ("cmdline.highres", Boot("highres")),
    ("cmdline.idle", Boot("idle")),
    ("cmdline.intel_idle.max_cstate", Boot("intel_idle.max_cstate")),
    ("cmdline.irqaffinity", Boot("irqaffinity")),
    ("cmdline.isolcpus", Boot("isolcpus")),
    ("cmdline.mitigations", Boot("mitigations")),
    ("cmdline.nohz", Boot("nohz")),
    ("cmdline.nohz_full", Boot("nohz_full")),
    ("cmdline.nosmt", Boot("nosmt")),
    ("cmdline.others", Found(command_line::others)),
    ("cmdline.preempt", Boot("preempt")),
    ("cmdline.processor.max_cstate", Boot("processor.max_cstate")),
    ("cmdline.rcu_nocbs", Boot("rcu_nocbs")),
    ("cmdline.skew_tick", Boot("skew_tick")),
    ("cmdline.threadirqs", Boot("threadirqs")),
    ("cmdline.tsc", Boot("tsc")),
    ("cpu.isolated", File("sys/devices/system/cpu/isolated")),
    ("cpu.microcode", EachCpu("microcode/version")),
    ("cpu.nohz_full", File("sys/devices/system/cpu/nohz_full")),
    ("cpu.online", File("sys/devices/system/cpu/online")),
    ("cpufreq.boost", File("sys/devices/system/cpu/cpufreq/boost")),
    ("cpufreq.driver", EachCpu("cpufreq/scaling_driver")),
    ("cpufreq.epp", EachCpu("cpufreq/energy_performance_preference")),
    ("cpufreq.governor", EachCpu("cpufreq/scaling_governor")),
    ("cpufreq.max_khz", EachCpu("cpufreq/scaling_max_freq")),
    ("cpufreq.min_khz", EachCpu("cpufreq/scaling_min_freq")),
    ("cpufreq.no_turbo", File("sys/devices/system/cpu/intel_pstate/no_turbo")),
    ("cpuidle.driver", File("sys/devices/system/cpu/cpuidle/current_driver")),
    ("cpuidle.governor", File("sys/devices/system/cpu/cpuidle/current_governor")),
    ("cpuidle.latency_limit_us", Found(idle_states::latency_limit)),
    ("cpuidle.resume_limit_us", EachCpu("power/pm_qos_resume_latency_us")),
    ("cpuidle.states", Found(idle_states::allowed)),
    ("irq.default_smp_affinity", File("proc/irq/default_smp_affinity")),
    ("kernel.nmi_watchdog", File("proc/sys/kernel/nmi_watchdog")),
    ("kernel.numa_balancing", File("proc/sys/kernel/numa_balancing")),
    ("kernel.sched_autogroup_enabled", File("proc/sys/kernel/sched_autogroup_enabled")),
    ("kernel.sched_rr_timeslice_ms", File("proc/sys/kernel/sched_rr_timeslice_ms")),
    ("kernel.sched_rt_period_us", File("proc/sys/kernel/sched_rt_period_us")),
    ("kernel.sched_rt_runtime_us", File("proc/sys/kernel/sched_rt_runtime_us")),
    (
        "kernel.sched_util_clamp_min_rt_default",
        File("proc/sys/kernel/sched_util_clamp_min_rt_default"),
    ),
    ("kernel.soft_watchdog", File("proc/sys/kernel/soft_watchdog")),
    ("kernel.timer_migration", File("proc/sys/kernel/timer_migration")),
    ("kernel.watchdog", File("proc/sys/kernel/watchdog")),
    ("net.core.bpf_jit_enable", File("proc/sys/net/core/bpf_jit_enable")),
    ("package.kernel", Found(packages::kernel)),
    ("package.libc6", Package("libc6")),
    ("package.musl", Package("musl")),
    ("rcu.kthread_prio", File("sys/module/rcutree/parameters/kthread_prio")),
    ("rcu.use_softirq", File("sys/module/rcutree/parameters/use_softirq")),
    ("sched.base_slice_ns", File("sys/kernel/debug/sched/base_slice_ns")),
    ("sched.features_off", Found(features_off)),
    ("sched.latency_ns", File("sys/kernel/debug/sched/latency_ns")),
    ("sched.migration_cost_ns", File("sys/kernel/debug/sched/migration_cost_ns")),
    ("sched.min_granularity_ns", File("sys/kernel/debug/sched/min_granularity_ns")),
    ("sched.nr_migrate", File("sys/kernel/debug/sched/nr_migrate")),
    ("sched.preempt", Chosen(SWITCH)),
    ("sched.wakeup_granularity_ns", File("sys/kernel/debug/sched/wakeup_granularity_ns")),
    ("sched_ext.scheduler", File("sys/kernel/sched_ext/root/ops")),
    ("sched_ext.state", File("sys/kernel/sched_ext/state")),
    ("smt.control", File("sys/devices/system/cpu/smt/control")),
    ("threads.irq", KernelThreads("irq/")),
    ("threads.ksoftirqd", KernelThreads("ksoftirqd/")),
    ("threads.ktimers", KernelThreads("ktimers/")),
    ("threads.migration", KernelThreads("migration/")),
    ("threads.rcu", KernelThreads("rcu")),
    ("threads.timer", KernelThreads("timer_")),
    ("timer_policy.defer_nonrt", File("sys/kernel/timer_policy/defer_nonrt")),
    ("timer_policy.defer_rt", File("sys/kernel/timer_policy/defer_rt")),
    ("timer_policy.levels", File("sys/kernel/timer_policy/levels")),
    ("timer_policy.order", Chosen("sys/kernel/timer_policy/order")),
    ("timer_policy.rearm", Chosen("sys/kernel/timer_policy/rearm")),
    ("timer_policy.softirq_expires_next", Chosen("sys/kernel/timer_policy/softirq_expires_next")),
    ("timer_slack_ns", File("proc/self/timerslack_ns")),
    ("transparent_hugepage", Chosen("sys/kernel/mm/transparent_hugepage/enabled")),
    ("transparent_hugepage.defrag", Chosen("sys/kernel/mm/transparent_hugepage/defrag")),
    ("vm.compaction_proactiveness", File("proc/sys/vm/compaction_proactiveness")),
    ("vm.dirty_writeback_centisecs", File("proc/sys/vm/dirty_writeback_centisecs")),
    ("vm.stat_interval", File("proc/sys/vm/stat_interval")),
    ("vm.swappiness", File("proc/sys/vm/swappiness")),
    ("workqueue.cpumask", File("sys/devices/virtual/workqueue/cpumask")),
];

/// The most characters of a value; what is longer ends in `…`.
const CHARS_MAX: usize = 256;

/// Those that are there, by name.
pub(crate) fn read(probe: &Probe) -> BTreeMap<String, String> {
    let read =
        |(name, place): &(&str, Place)| Some(((*name).to_owned(), bounded(place.read(probe)?)));
    SETTINGS.iter().filter_map(read).collect()
}

impl Place {
    fn read(&self, probe: &Probe) -> Option<String> {
        match self {
            File(path) => probe.root.word(path),
            Chosen(path) => {
                let words = probe.root.word(path)?;
                let bare = |word: &str| {
                    let between = |open, close| word.strip_prefix(open)?.strip_suffix(close);
                    between('[', ']').or_else(|| between('(', ')')).map(str::to_owned)
                };
                Some(words.split_whitespace().find_map(bare).unwrap_or(words))
            }
            EachCpu(path) => each_cpu::read(probe, path),
            Boot(name) => Some(probe.command_line.value(name)?.to_owned()),
            KernelThreads(names) => kernel_threads::read(probe, names),
            Package(name) => packages::version(probe, name),
            Found(find) => find(probe),
        }
    }
}

/// Features of the scheduler that are switched off: those that are on are many more.
fn features_off(probe: &Probe) -> Option<String> {
    let features = probe.root.text("sys/kernel/debug/sched/features")?;
    let off: Vec<&str> =
        features.split_whitespace().filter_map(|feature| feature.strip_prefix("NO_")).collect();
    Some(if off.is_empty() { "none".to_owned() } else { off.join(" ") })
}

fn bounded(value: String) -> String {
    if value.chars().nth(CHARS_MAX).is_none() {
        return value;
    }
    value.chars().take(CHARS_MAX - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_come_once() {
        assert!(SETTINGS.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn a_value_is_of_bounded_length() {
        assert_eq!(bounded("x".repeat(CHARS_MAX)), "x".repeat(CHARS_MAX));
        let cut = bounded("é".repeat(CHARS_MAX + 1));
        assert_eq!((cut.chars().count(), cut.chars().last()), (CHARS_MAX, Some('…')));
    }
}
