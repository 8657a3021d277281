//! What measuring cost, the same in every document.

use serde::Serialize;
use tardy_lab::ThreadUsage;
use tardy_lab::cyclic::OwnCost;

/// What the kernel counted against a thread while it measured.
#[derive(Debug, Serialize)]
pub(super) struct UsageDocument {
    minor_faults: u64,
    major_faults: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
}

/// What taking a sample cost, in ns.
#[derive(Debug, Serialize)]
pub(super) struct OwnCostDocument {
    min: u64,
    median: u64,
    samples: usize,
    median_after_sleep: u64,
    sleeps: usize,
}

impl From<ThreadUsage> for UsageDocument {
    fn from(usage: ThreadUsage) -> Self {
        let ThreadUsage { minor_faults, major_faults, voluntary_switches, involuntary_switches } =
            usage;
        Self { minor_faults, major_faults, voluntary_switches, involuntary_switches }
    }
}

impl From<OwnCost> for OwnCostDocument {
    fn from(cost: OwnCost) -> Self {
        Self {
            min: cost.min_ns,
            median: cost.median_ns,
            samples: cost.samples,
            median_after_sleep: cost.slept_median_ns,
            sleeps: cost.sleeps,
        }
    }
}
