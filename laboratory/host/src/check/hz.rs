//! How often the tick comes.

use super::Finding;
use crate::probe::Probe;

pub(super) fn check(probe: &Probe) -> Finding {
    let Some(hz) = probe.hz() else {
        return Finding::unknown(
            "not told",
            "Kernel timers of the wheel, and fair threads taking turns, wait for a tick: 1 to 10 \
             ms. /proc/config.gz (CONFIG_IKCONFIG_PROC) or /boot/config-* would show it.",
        );
    };
    let tick_us = 1_000_000 / hz;
    let value = format!("{hz} ({tick_us} µs)");
    if probe.has_high_resolution() == Some(false) {
        return Finding::problem(
            value,
            format!("Timers fire at the tick here: a sleep ends up to {tick_us} µs late."),
        )
        .change("a kernel with CONFIG_HZ_1000=y, or better CONFIG_HIGH_RES_TIMERS=y");
    }
    Finding::good(
        value,
        format!(
            "Sleeps do not depend on it: timers have high resolution. Kernel timers of the wheel \
             (network, drivers) fire up to {tick_us} µs late, and a fair thread that shares a CPU \
             waits for the tick until its turn comes."
        ),
    )
}
