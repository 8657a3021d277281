//! An experiment as it is written down.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is measured, under which conditions, and how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Experiment {
    /// What it is called on the command line.
    pub name: String,
    /// Its title, in words.
    pub title: String,
    /// Where it comes from: author, subject, list, date; empty for one's own.
    #[serde(default)]
    pub source: String,
    /// What it is to answer.
    pub question: String,
    /// The table that shows its figures best.
    pub table: Table,
    /// What is measured: `kind`, and what that kind takes.
    pub measure: toml::Table,
    /// How long by default: about a minute in all.
    pub default: Length,
    /// How long with `--full`: as long as in its source.
    pub full: Length,
    /// The conditions; the first is what the others are compared with.
    #[serde(rename = "condition")]
    pub conditions: Vec<Condition>,
    /// What its source reports, by condition's name and then by figure's, in the unit of that figure:
    /// shown beside, never compared by a test.
    #[serde(default)]
    pub reported: BTreeMap<String, BTreeMap<String, f64>>,
}

/// How long an experiment runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Length {
    /// How many rounds; each runs a block of every condition.
    pub rounds: u32,
    /// How long one block, in ms.
    pub block_ms: u64,
    /// How much of a block's beginning is thrown away, in ms.
    pub warm_up_ms: u64,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Condition {
    /// What it is called.
    pub name: String,
    /// The load, as on the command line; `none` for none.
    #[serde(default = "no_load")]
    pub load: String,
    /// What the measurement takes in this condition instead.
    #[serde(default)]
    pub measure: toml::Table,
    /// What the system must be for it: `preempt-rt`, `ebpf`, `cpus-2`. Where it is not, the condition
    /// is left out, and the results say why.
    #[serde(default)]
    pub needs: Vec<String>,
}

fn no_load() -> String {
    "none".to_owned()
}

/// The table that shows an experiment's figures best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Table {
    /// Minimum, mean, maximum per condition and thread.
    MinAvgMax,
    /// The maximum per condition, and how often it was far out.
    Spikes,
    /// The largest deviation per thread.
    Deviations,
    /// The share of values in each microsecond, per method.
    Shares,
    /// How often the clock-event device was programmed per move, per method.
    Programmings,
}
