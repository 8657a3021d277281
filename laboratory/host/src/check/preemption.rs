//! Whether a thread in the kernel can be preempted.

use super::Finding;
use crate::preemption::{Mode, SWITCH};
use crate::probe::Probe;

pub(super) fn check(probe: &Probe) -> Finding {
    let model = &probe.preemption;
    let value = model.to_string();
    if model.realtime {
        return Finding::good(
            value,
            "Spinlocks sleep and interrupts run in threads: what still holds a wakeup up is raw \
             spinlocks, disabled interrupts and the timer interrupt itself.",
        );
    }
    let finding = match model.mode {
        Some(Mode::Full) => Finding::notice(
            value,
            "A thread in the kernel is preempted, but not inside a spinlock, a softirq or an \
             interrupt handler: a wakeup waits for the longest of them, often hundreds of µs \
             under load.",
        ),
        Some(Mode::Lazy) => Finding::notice(
            value,
            "A real-time thread preempts the kernel outside spinlocks, softirqs and interrupt \
             handlers; a fair thread (SCHED_OTHER) waits for the running one up to the next tick.",
        ),
        None if model.dynamic => Finding::unknown(
            value,
            "The mode was chosen at boot or while running, and no readable file shows it: with \
             none or voluntary a wakeup waits for whole system calls of others.",
        ),
        Some(Mode::None | Mode::Voluntary) | None => Finding::problem(
            value,
            "A thread in the kernel goes on until it blocks, returns to user space or comes to a \
             place that lets others in: a wakeup on its CPU waits for milliseconds at worst, \
             whatever its priority.",
        ),
    };
    if model.mode == Some(Mode::Full) {
        return finding.change(realtime_kernel(probe));
    }
    if model.dynamic {
        let echo = format!("echo full > /{SWITCH}");
        let now = if probe.root.exists(SWITCH) {
            echo
        } else {
            format!("mount -t debugfs nodev /sys/kernel/debug; {echo}")
        };
        return finding.change(now).change("boot with preempt=full").fix("--only preempt");
    }
    finding.change(realtime_kernel(probe))
}

fn realtime_kernel(probe: &Probe) -> String {
    let release = probe.root.text("etc/os-release").unwrap_or_default();
    let is_debian = release.lines().any(|line| line.trim() == "ID=debian");
    let package = match probe.calls.arch.as_str() {
        "x86_64" => Some("amd64"),
        "aarch64" => Some("arm64"),
        "armv7l" => Some("armmp"),
        _ => None,
    };
    match package {
        Some(package) if is_debian => format!("apt install linux-image-rt-{package}, and boot it"),
        _ => "a kernel with CONFIG_PREEMPT_RT=y (mainline from 6.12 on, patches before)".into(),
    }
}
