//! Which CPUs device interrupts go to.

use super::Finding;
use crate::probe::Probe;
use tardy_changes::CpuList;

/// Interrupts that are named one by one.
const NAMED_MAX: usize = 8;

pub(super) fn check(probe: &Probe) -> Finding {
    let mut count = 0;
    let mut astray = Vec::new();
    let kept_free = probe.isolated.union(&probe.nohz_full);
    for number in probe.root.names("proc/irq") {
        let folder = format!("proc/irq/{number}");
        let list = |name: &str| CpuList::parse(&probe.root.word(&format!("{folder}/{name}"))?);
        // Where it goes now, or else where it may go.
        let Some(cpus) = list("effective_affinity_list")
            .filter(|cpus| !cpus.is_empty())
            .or_else(|| list("smp_affinity_list"))
        else {
            continue;
        };
        count += 1;
        if cpus.overlaps(&kept_free) {
            astray.push(number);
        }
    }
    if count == 0 {
        let why = "An interrupt handler runs before any thread of its CPU.";
        return Finding::unknown("not told", why);
    }
    if kept_free.is_empty() {
        return Finding::good(
            format!("{count} interrupts on all CPUs"),
            "No CPU is kept free of them, so none is misplaced. Each runs before any thread of \
             its CPU.",
        );
    }
    if astray.is_empty() {
        return Finding::good(
            format!("{count} interrupts, none on CPUs {kept_free}"),
            "No device interrupts the CPUs that are kept free.",
        );
    }
    let named = astray.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if astray.len() > NAMED_MAX { ", …" } else { "" };
    let housekeeping = probe.cpus.without(&kept_free);
    let finding = Finding::notice(
        format!("{} of {count} on CPUs {kept_free}: {named}{more}", astray.len()),
        "These interrupt the CPUs that are kept free: a handler, and what it raises, runs before \
         any thread there.",
    );
    if housekeeping.is_empty() {
        return finding;
    }
    finding
        .change(format!("echo {} > /proc/irq/N/smp_affinity", housekeeping.mask()))
        .change(format!(
            "boot with irqaffinity={housekeeping}, and isolcpus=managed_irq,… where the write is refused, as the \
             interrupt is managed then"
        ))
        .fix(&format!("--only 'affinity(irq N)={housekeeping}'"))
}
