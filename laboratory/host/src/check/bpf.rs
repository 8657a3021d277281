//! Whether the kernel takes eBPF programs from here.

use super::Finding;
use crate::probe::Probe;

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
    let lockdown = root.word("sys/kernel/security/lockdown").unwrap_or_default();
    if lockdown.contains("[confidentiality]") {
        return Finding::notice(
            "locked down (confidentiality)",
            "The kernel shows programs nothing about itself: neither by eBPF nor by most of \
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
    let limit = probe.calls.memlock_limit_bytes;
    if probe.is_before((5, 11)) && limit.is_some_and(|bytes| bytes < 64 << 20) {
        return Finding::notice(
            "yes, with little memory",
            "Before 5.11 maps and ring buffers count as locked memory: they may be refused, and \
             small ones lose events under load.",
        )
        .change("ulimit -l unlimited");
    }
    Finding::good("yes, compiled", "Recording costs a wakeup well under a µs per event on its way.")
}
