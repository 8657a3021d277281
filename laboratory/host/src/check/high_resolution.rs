//! Whether timers are finer than the tick.

use super::Finding;
use crate::probe::Probe;

pub(super) fn check(probe: &Probe) -> Finding {
    let (on, off) = bases(probe);
    let active = match (probe.has_high_resolution(), on, off) {
        (_, _, 1..) => false,
        (Some(active), ..) => active,
        (None, 1.., 0) => true,
        (None, 0, 0) => {
            return Finding::unknown(
                "not told",
                "In low-resolution mode a sleep ends at a tick, up to 10 ms late.",
            );
        }
    };
    if active {
        return Finding::good(
            "active, 1 ns",
            "A timer fires at its own time, not at the next tick.",
        );
    }
    let tick = probe.hz().map_or(String::new(), |hz| format!(", here {} µs", 1_000_000 / hz));
    let value = if on > 0 {
        format!("inactive on {off} of {} CPUs", on + off)
    } else {
        "inactive: timers fire at the tick".into()
    };
    let why = format!("Every sleep ends at the tick after its expiry: up to a period late{tick}.");
    let change = if probe.config.lacks("HIGH_RES_TIMERS") {
        "a kernel with CONFIG_HIGH_RES_TIMERS=y"
    } else {
        "boot without highres=off and nohz=off; if neither is given, the clock source or the \
         clock-event device does not support it (see dmesg)"
    };
    Finding::problem(value, why).change(change)
}

/// CPUs whose timer base is in high-resolution mode, and those where it is not.
fn bases(probe: &Probe) -> (usize, usize) {
    let list = probe.root.text("proc/timer_list").unwrap_or_default();
    let mut count = (0, 0);
    for line in list.lines() {
        let Some((name, value)) = line.trim().split_once(':') else { continue };
        if name.trim() == ".hres_active" {
            match value.trim() {
                "1" => count.0 += 1,
                "0" => count.1 += 1,
                _ => {}
            }
        }
    }
    count
}
