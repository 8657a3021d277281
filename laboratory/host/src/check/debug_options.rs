//! Options of a debugging kernel that cost more than what is being measured.

use super::Finding;
use crate::probe::Probe;

/// Options that multiply the time spent in locks, allocations or with interrupts off.
const COSTLY: [&str; 11] = [
    "PROVE_LOCKING",
    "LOCK_STAT",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_OBJECTS",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "DEBUG_KMEMLEAK",
    "SLUB_DEBUG_ON",
    "KASAN",
    "KCSAN",
    "UBSAN_SANITIZE_ALL",
    "KCOV",
];

pub(super) fn check(probe: &Probe) -> Finding {
    if !probe.config.is_known() {
        return Finding::unknown(
            "no kernel configuration to be read",
            "Lock proving or address checking make every wakeup several times later; \
             /proc/config.gz (CONFIG_IKCONFIG_PROC) or /boot/config-* would show whether they are \
             built in.",
        );
    }
    let found: Vec<&str> = COSTLY.into_iter().filter(|name| probe.config.has(name)).collect();
    if found.is_empty() {
        return Finding::good(
            "none that cost much",
            "Measurements are those of a production \
                                                     kernel.",
        );
    }
    Finding::problem(
        found.join(", "),
        "These make locks and allocations many times slower and lengthen the time with interrupts \
         off: a wakeup's lateness here says little about a production kernel.",
    )
    .change("a kernel built without them")
}
