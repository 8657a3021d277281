//! At which clock a CPU runs when a timer fires.

use super::Finding;
use crate::probe::Probe;
use std::collections::BTreeSet;
use std::fmt::Write;

pub(super) fn check(probe: &Probe) -> Finding {
    let root = &probe.root;
    let (mut governors, mut drivers) = (BTreeSet::new(), BTreeSet::new());
    let (mut low_khz, mut high_khz) = (u64::MAX, 0);
    for cpu in probe.cpus.iter() {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq");
        governors.extend(root.word(&format!("{folder}/scaling_governor")));
        drivers.extend(root.word(&format!("{folder}/scaling_driver")));
        if let Some(khz) = root.number::<u64>(&format!("{folder}/scaling_min_freq")) {
            low_khz = low_khz.min(khz);
        }
        if let Some(khz) = root.number::<u64>(&format!("{folder}/scaling_max_freq")) {
            high_khz = high_khz.max(khz);
        }
    }
    if governors.is_empty() {
        return if probe.virtualisation.is_guest() {
            Finding::unknown(
                "not visible to the guest",
                "The host chooses the clock: the same code may take several times longer after \
                 an idle spell.",
            )
        } else {
            let why = "The kernel does not change the clock; the firmware may.";
            Finding::good("no governor", why)
        };
    }
    let join =
        |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join("+");
    let mut value = join(&governors);
    if !drivers.is_empty() {
        let _ = write!(value, " ({})", join(&drivers));
    }
    if 0 < low_khz && low_khz <= high_khz {
        let _ = write!(value, ", {}–{} MHz", low_khz / 1000, high_khz / 1000);
    }
    if governors.iter().all(|name| name == "performance") || low_khz == high_khz {
        return Finding::good(value, "The clock does not drop while a CPU waits for its timer.");
    }
    let factor = if 0 < low_khz && low_khz < high_khz {
        format!("up to {:.1} times longer", high_khz as f64 / low_khz as f64)
    } else {
        "longer".into()
    };
    Finding::notice(
        value,
        format!(
            "A CPU that idled may be at its lowest clock when the timer fires: interrupt, \
             scheduler and the thread's own code take {factor} until the governor follows."
        ),
    )
    .change("cpupower frequency-set -g performance")
    .fix("--only governor")
}
