//! Whether the kernel tells its types.

use super::Finding;
use crate::probe::Probe;

/// The types of the running kernel.
pub(crate) const PATH: &str = "sys/kernel/btf/vmlinux";

pub(super) fn check(probe: &Probe) -> Finding {
    if probe.root.exists(PATH) {
        return Finding::good(
            "yes",
            "eBPF programs built elsewhere fit themselves to this kernel: the cheapest way to \
             record what happens on a wakeup's path.",
        );
    }
    Finding::notice(
        "no",
        "eBPF programs cannot fit themselves to this kernel: recording goes through tracefs, which \
         costs a wakeup several times as much.",
    )
    .change("a kernel with CONFIG_DEBUG_INFO_BTF=y")
}
