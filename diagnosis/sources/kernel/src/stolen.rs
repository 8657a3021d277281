//! What a hypervisor has taken from this machine, by the kernel's own sum.

use procfs::{CurrentSI as _, KernelStats};

/// CPU time of all CPUs that a hypervisor has taken since boot, in nanoseconds and whole ticks of `/proc/stat`
/// (10 ms mostly); `None` where the kernel does not say.
pub fn stolen_ns() -> Option<u64> {
    let stolen = KernelStats::current().ok()?.total.steal_duration()?;
    Some(stolen.as_nanos() as u64)
}
