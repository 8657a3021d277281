//! Whether the kernel takes eBPF programs from here.

use super::Finding;
use crate::kernel_version::KernelVersion;
use crate::probe::Probe;

/// The first kernel whose programs have atomic operations that return a value, without which tardy's cannot hand
/// records over.
pub(crate) fn since(arch: &str) -> KernelVersion {
    if arch == "aarch64" { (5, 18) } else { (5, 12) }
}

/// The first kernel that tells programs with which registers a thread came into the kernel.
const CALLS_SINCE: KernelVersion = (5, 15);

pub(super) fn check(probe: &Probe) -> Finding {
    let root = &probe.root;
    let unprivileged = root.word("proc/sys/kernel/unprivileged_bpf_disabled");
    // The sysctl is there only in kernels that have the system call.
    if probe.config.lacks("BPF_SYSCALL") || (unprivileged.is_none() && !probe.config.is_known()) {
        return Finding::notice(
            "not in this kernel",
            "Recording goes through tracefs, which costs a wakeup several times as much.",
        )
        .change("a kernel with CONFIG_BPF_SYSCALL=y, CONFIG_BPF_JIT=y and CONFIG_BPF_EVENTS=y");
    }
    let since = since(&probe.calls.arch);
    if probe.is_before(since) {
        let (major, minor) = since;
        return Finding::notice(
            format!("too old: Linux {major}.{minor} is needed"),
            "Programs have no atomic operations that return a value: recording goes through \
             tracefs, which costs a wakeup several times as much and does not record system \
             calls.",
        )
        .change(format!("a kernel of {major}.{minor} or later"));
    }
    let lockdown = root.word("sys/kernel/security/lockdown").unwrap_or_default();
    if lockdown.contains("[confidentiality]") {
        return Finding::notice(
            "locked down (confidentiality)",
            "The kernel shows programs nothing about itself, neither by eBPF nor by most of \
             tracefs.",
        )
        .change("boot with lockdown=integrity, or without secure boot");
    }
    if !probe.privileges.may_trace_by_bpf() {
        let sysctl =
            unprivileged.map_or(String::new(), |n| format!(" (unprivileged_bpf_disabled {n})"));
        return Finding::notice(
            format!("not for this user{sysctl}"),
            "Tracing programs need CAP_BPF and CAP_PERFMON, whatever unprivileged_bpf_disabled \
             says; without them eBPF records nothing.",
        )
        .change("sudo, or setcap cap_bpf,cap_perfmon+ep on the program");
    }
    if root.word("proc/sys/net/core/bpf_jit_enable").as_deref() == Some("0") {
        return Finding::notice(
            "yes, interpreted",
            "Programs on a wakeup's path are interpreted: several times the cost of compiled ones.",
        )
        .change("sysctl net.core.bpf_jit_enable=1");
    }
    if probe.is_before(CALLS_SINCE) {
        return Finding::notice(
            "yes, without the calls that arm timers",
            "Before Linux 5.15 a program cannot see which system call a thread is in: timers have \
             owners, but sleeps have no names.",
        )
        .change("a kernel of 5.15 or later");
    }
    Finding::good("yes, compiled", "Recording costs a wakeup well under a µs per event.")
}
