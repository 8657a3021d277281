//! Which CPUs are kept free of other work.

use super::Finding;
use crate::probe::Probe;
use tardy_changes::CpuList;

/// From this many CPUs on it is usual to keep some for real-time threads.
const CPUS_TO_SPARE: usize = 4;

pub(super) fn check(probe: &Probe) -> Finding {
    let (isolated, nohz_full) = (&probe.isolated, &probe.nohz_full);
    let offloaded = probe.command_line.value("rcu_nocbs");
    if isolated.is_empty() && nohz_full.is_empty() {
        let value = "none";
        if probe.preemption.realtime && probe.cpus.len() >= CPUS_TO_SPARE {
            let last = probe.cpus.len() - 1;
            return Finding::notice(
                value,
                "Every CPU takes threads, unbound kernel work, RCU callbacks and interrupts: a \
                 real-time thread meets them on whichever CPU it runs.",
            )
            .change(format!(
                "boot with isolcpus=managed_irq,domain,{last} rcu_nocbs={last} irqaffinity=0, which keeps CPU \
                 {last} free"
            ))
            .fix(&format!("--only isolate={last}"));
        }
        return Finding::good(value, "All CPUs run threads, kernel work and interrupts.");
    }
    let mut parts = Vec::new();
    if !isolated.is_empty() {
        parts.push(format!("isolcpus {isolated}"));
    }
    if !nohz_full.is_empty() {
        parts.push(format!("nohz_full {nohz_full}"));
    }
    if let Some(offloaded) = offloaded {
        parts.push(format!("rcu_nocbs {offloaded}").trim_end().to_owned());
    }
    let value = parts.join(", ");
    if !nohz_full.is_empty() {
        return Finding::notice(
            value,
            "A CPU with nohz_full has no tick while one thread runs, but every entry into the \
             kernel and return from it does more accounting: a thread that sleeps and wakes, as \
             cyclictest does, is later there than on a CPU that is only isolated.",
        )
        .change("nohz_full for threads that never enter the kernel, isolcpus alone for sleepers");
    }
    let covered = probe.config.has("RCU_NOCB_CPU_DEFAULT_ALL")
        || offloaded.is_some_and(|list| {
            // `all`, and `N` for the last CPU, are the kernel's own shorthands.
            let last = probe.cpus.iter().last().unwrap_or(0).to_string();
            list == "all"
                || CpuList::parse(&list.replace('N', &last))
                    .is_some_and(|list| isolated.without(&list).is_empty())
        });
    if !covered {
        return Finding::notice(
            value,
            "The isolated CPUs still run RCU callbacks in their softirq: what other threads free \
             is freed there, ahead of a wakeup.",
        )
        .change(format!("boot with rcu_nocbs={isolated}"));
    }
    Finding::good(value, "The isolated CPUs run only what is bound to them.")
}
