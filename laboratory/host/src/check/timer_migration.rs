//! Whether timers move to other CPUs.

use super::Finding;
use crate::probe::Probe;

pub(super) fn check(probe: &Probe) -> Finding {
    let Some(on) = probe.root.word("proc/sys/kernel/timer_migration") else {
        return Finding::unknown(
            "not told",
            "A timer that moved to another CPU wakes its thread by interrupt between CPUs.",
        );
    };
    match on.as_str() {
        "0" => Finding::good("off", "A timer fires on the CPU where it was armed."),
        "1" if probe.nohz_full.is_empty() => Finding::good(
            "on",
            "A CPU that is busy keeps the timers it arms, so a sleep still ends on its own CPU; \
             only timers armed on an idle CPU, by interrupts, go to another.",
        ),
        "1" => Finding::notice(
            format!("on, with nohz_full CPUs {}", probe.nohz_full),
            "A sleep begun on a nohz_full CPU may expire on a housekeeping CPU: the wakeup then \
             waits for that CPU's interrupts and comes by interrupt between CPUs.",
        )
        .change("sysctl kernel.timer_migration=0")
        .fix("--only timer-migration"),
        _ => Finding::unknown(
            on,
            "The value is neither 0 nor 1: tardy does not know what it \
                                   means for timers.",
        ),
    }
}
