//! A setting that each CPU has for itself.

use crate::probe::Probe;
use std::collections::BTreeMap;

/// Different values that are told apart at most.
const VALUES_MAX: usize = 8;

/// The value of all CPUs that have one; where they differ, each with its CPUs: `powersave (0-3), performance (4)`.
pub(super) fn read(probe: &Probe, path: &str) -> Option<String> {
    let mut values: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for cpu in probe.cpus.iter() {
        if let Some(value) = probe.root.word(&format!("sys/devices/system/cpu/cpu{cpu}/{path}")) {
            values.entry(value).or_default().push(cpu);
        }
    }
    if values.len() < 2 {
        return values.into_keys().next();
    }
    let more = values.len().saturating_sub(VALUES_MAX);
    let mut told: Vec<String> = values
        .into_iter()
        .take(VALUES_MAX)
        .map(|(value, cpus)| format!("{value} ({})", ranges(&cpus)))
        .collect();
    told.extend((more > 0).then(|| format!("{more} more")));
    Some(told.join(", "))
}

/// `0-3,8`; ascending.
fn ranges(cpus: &[u32]) -> String {
    let parts: Vec<String> = cpus
        .chunk_by(|one, next| one + 1 == *next)
        .map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    }
}
