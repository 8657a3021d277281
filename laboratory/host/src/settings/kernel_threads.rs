//! Under which policies kernel threads run.

use super::threads::Stat;
use crate::probe::Probe;
use std::collections::BTreeMap;

/// Processes that are looked at at most.
const PROCESSES_MAX: usize = 1 << 16;

/// The process whose children kernel threads are (`kthreadd`).
const KTHREADD: u32 = 2;

/// Policy and priority of the kernel threads whose names begin with `names`; where they differ, each with how many:
/// `SCHED_FIFO 1 (4), SCHED_OTHER (1)`.
pub(super) fn read(probe: &Probe, names: &str) -> Option<String> {
    let mut policies: BTreeMap<String, u32> = BTreeMap::new();
    for name in probe.root.names("proc").iter().take(PROCESSES_MAX) {
        if !name.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let stat = probe.root.text(&format!("proc/{name}/stat"));
        let Some(stat) = stat.as_deref().and_then(Stat::parse) else { continue };
        if stat.parent == KTHREADD && stat.name.starts_with(names) {
            *policies.entry(stat.policy_in_words()).or_default() += 1;
        }
    }
    if policies.len() < 2 {
        return policies.into_keys().next();
    }
    let each = policies.iter().map(|(policy, threads)| format!("{policy} ({threads})"));
    Some(each.collect::<Vec<_>>().join(", "))
}
