//! Whether this is a guest.

use super::Finding;
use crate::probe::Probe;
use crate::virtualisation::Virtualisation;

pub(super) fn check(probe: &Probe) -> Finding {
    let value = probe.virtualisation.to_string();
    match probe.virtualisation {
        Virtualisation::Guest(_) => Finding::notice(
            value,
            "The host takes the virtual CPU away whenever it likes, and programming a timer or \
             waking an idle CPU goes through it: tens of µs on every wakeup, milliseconds at \
             worst, which no setting in here changes.",
        )
        .change("on the host: give each virtual CPU a CPU of its own, and its thread SCHED_FIFO"),
        Virtualisation::Bare => Finding::good(value, "No hypervisor between timer and CPU."),
        Virtualisation::NoSign => Finding::good(
            value,
            "On this architecture a hypervisor may be invisible; the firmware's tables do not \
                mention one.",
        ),
    }
}
