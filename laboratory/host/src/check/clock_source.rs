//! What the kernel reads the time from.

use super::Finding;
use crate::probe::Probe;

const FOLDER: &str = "sys/devices/system/clocksource/clocksource0";

/// Read from user space, without a system call, in tens of nanoseconds.
const FAST: [&str; 9] = [
    "tsc",
    "tsc-early",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "xen",
    "arch_sys_counter",
    "timebase",
    "riscv_clocksource",
    "tod",
];

pub(super) fn check(probe: &Probe) -> Finding {
    let Some(current) = probe.root.word(&format!("{FOLDER}/current_clocksource")) else {
        return Finding::unknown(
            "not told",
            "A slow clock adds its read to every timer and to every mark of a measurement.",
        );
    };
    let available = probe.root.word(&format!("{FOLDER}/available_clocksource")).unwrap_or_default();
    let others = available.split_whitespace();
    let better = others.filter(|name| *name != current).find(|name| FAST.contains(name));
    if FAST.contains(&current.as_str()) {
        let why = "Reading the time costs tens of nanoseconds, without a system call.";
        return Finding::good(current, why);
    }
    let finding = match current.as_str() {
        "jiffies" | "refined-jiffies" => Finding::problem(
            current,
            "The time moves on with the tick only: no timer is finer than that, and no \
             measurement either.",
        ),
        "hpet" | "acpi_pm" if probe.virtualisation.is_guest() => Finding::problem(
            current,
            "Each read is a system call and leaves the guest for the hypervisor: many µs, in every \
             timer interrupt and every measurement.",
        ),
        "hpet" | "acpi_pm" => Finding::problem(
            current,
            "Each read is a system call and an access to a slow device: a µs or more, in every \
             timer interrupt and every measurement.",
        ),
        _ => {
            return Finding::unknown(
                current,
                "tardy does not know this driver's clock: most of these are read by system call, \
                 some hundred ns on every mark of a measurement.",
            );
        }
    };
    match better {
        Some(better) => finding.change(format!("echo {better} > /{FOLDER}/current_clocksource")),
        None if probe.calls.arch == "x86_64" => finding.change(
            "dmesg | grep -i tsc shows why the TSC was rejected; tsc=reliable overrides that if \
             the machine is known to be good",
        ),
        None => finding,
    }
}
