//! Who runs this and what that one may do.

use super::Finding;
use crate::privileges::{Cap, group_rt_runtime_us};
use crate::probe::Probe;

pub(super) fn check(probe: &Probe) -> Finding {
    let (privileges, calls) = (&probe.privileges, &probe.calls);
    let held: Vec<&str> =
        Cap::ALL.into_iter().filter(|cap| privileges.is_effective(*cap)).map(Cap::name).collect();
    let held = if held.is_empty() { "no capabilities".into() } else { held.join(" ") };
    let limit = |limit: Option<u64>| limit.map_or("unlimited".into(), |n| n.to_string());
    let value = format!(
        "uid {}, {held}; rtprio {}, memlock {}",
        calls.uid,
        limit(calls.rtprio_limit),
        calls.memlock_limit_bytes.map_or("unlimited".into(), |n| format!("{} KiB", n / 1024)),
    );
    if privileges.in_user_namespace {
        return Finding::notice(
            value,
            "This is a user namespace of its own (a rootless container): its capabilities count \
             for nothing where the kernel grants real-time priorities, locked memory or tracing.",
        )
        .change("run it outside the container, or in one that runs as root on the host");
    }
    if group_rt_runtime_us(&probe.root) == Some(0) {
        return Finding::problem(
            value,
            "The CPU control group of this process has no real-time runtime: the kernel refuses \
             every real-time priority in it, even to root.",
        )
        .change("echo 950000 > /sys/fs/cgroup/cpu/GROUP/cpu.rt_runtime_us, or leave the group");
    }
    // Before 5.8 CAP_SYS_ADMIN was all there was for tracing.
    let is_needed =
        |cap: &Cap| !(probe.is_before((5, 8)) && matches!(cap, Cap::Bpf | Cap::Perfmon));
    if Cap::ALL.into_iter().filter(is_needed).all(|cap| privileges.has(cap)) {
        return Finding::good(
            value,
            "This user has all rights that a measurement or a trace needs.",
        );
    }
    Finding::notice(
        value,
        "Without these rights a measurement runs at ordinary priority, with memory that may be \
         paged out, or without a trace; see below what exactly is missing.",
    )
    .change("sudo, or setcap cap_sys_nice,cap_ipc_lock,cap_bpf,cap_perfmon+ep on the program")
}
