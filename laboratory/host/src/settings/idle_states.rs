//! Which idle states CPUs may enter.

use crate::check::idle_states as idle;
use crate::probe::Probe;

/// Each state with its exit latency: `POLL 0 µs, C1 2 µs, C6 133 µs off`.
pub(super) fn allowed(probe: &Probe) -> Option<String> {
    let states: Vec<String> = idle::states(probe)
        .iter()
        .map(|state| {
            let off = if state.allowed { "" } else { " off" };
            format!("{} {} µs{off}", state.name, state.exit_us)
        })
        .collect();
    (!states.is_empty()).then(|| states.join(", "))
}

/// What somebody holds `/dev/cpu_dma_latency` at, where the kernel's default is another.
pub(super) fn latency_limit(probe: &Probe) -> Option<String> {
    /// `PM_QOS_CPU_LATENCY_DEFAULT_VALUE` in `include/linux/pm_qos.h`: nobody asks for less.
    const DEFAULT_US: u64 = 2_000_000_000;
    match idle::system_limit_us(probe) {
        u64::MAX => None,
        DEFAULT_US.. => Some("none".to_owned()),
        us => Some(us.to_string()),
    }
}
