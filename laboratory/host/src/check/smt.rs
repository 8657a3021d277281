//! Whether CPUs share a core.

use super::Finding;
use crate::probe::Probe;

pub(super) fn check(probe: &Probe) -> Finding {
    let word = |name: &str| probe.root.word(&format!("sys/devices/system/cpu/smt/{name}"));
    match (word("active").as_deref(), word("control").as_deref()) {
        (Some("1"), _) => Finding::notice(
            "on",
            "Two CPUs share each core: whatever runs on the sibling slows a wakeup and its thread \
             down, unseen in any trace. A sibling counts as a neighbour when CPUs are isolated.",
        )
        .change("echo off > /sys/devices/system/cpu/smt/control (or boot with nosmt)"),
        (Some("0"), _) if probe.virtualisation.is_guest() => Finding::unknown(
            "none in the guest",
            "The guest cannot see whether its CPUs are siblings on the host, or of which CPUs.",
        ),
        (Some("0"), control) => {
            let value = if control == Some("off") { "switched off" } else { "none" };
            Finding::good(value, "No CPU shares its core with another.")
        }
        _ if probe.calls.arch.starts_with("arm") => {
            Finding::good("none", "Cores of this architecture run one thread each.")
        }
        _ => Finding::unknown("not told", "A busy sibling on the same core slows a wakeup down."),
    }
}
