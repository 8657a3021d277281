//! An experiment as it is written down.

use crate::grid::{self, Grid};
use crate::kernel_threads::{self, Wanted};
use crate::subject::{self, Subject};
use crate::timer_policy;
use crate::{Condition, ExperimentError, folder};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// The most conditions of one experiment.
const CONDITIONS_MAX: usize = 64;

/// The most rounds: a year of minutes.
const ROUNDS_MAX: u32 = 525_600;

/// The longest block, and the longest warm-up: an hour.
const BLOCK_MS_MAX: u64 = 3_600_000;

/// The shortest block.
const BLOCK_MS_MIN: u64 = 10;

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
    /// Policies of kernel threads in all conditions, by name up to the slash: `ktimers = "fifo:70"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kernel_threads: BTreeMap<String, String>,
    /// Timer policies of the kernel in all conditions, by switch: `rearm = "lazy"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timer_policy: BTreeMap<String, String>,
    /// The conditions; the first is what the others are compared with.
    #[serde(default, rename = "condition")]
    pub conditions: Vec<Condition>,
    /// Conditions as they are written down, many at once; empty once it is read.
    #[serde(default, rename = "grid", skip_serializing)]
    grids: Vec<Grid>,
    /// What its source reports, by condition's name and then by figure's, in the unit of that figure:
    /// shown beside, never compared by a test.
    #[serde(default)]
    pub reported: BTreeMap<String, BTreeMap<String, f64>>,
}

/// The experiments of the mailing lists, by name.
const KNOWN: [(&str, &str); 13] = [
    ("stacking", include_str!("../files/stacking.toml")),
    ("stacking-curve", include_str!("../files/stacking-curve.toml")),
    ("pi-spike", include_str!("../files/pi-spike.toml")),
    ("staircase", include_str!("../files/staircase.toml")),
    ("staircase-softirq", include_str!("../files/staircase-softirq.toml")),
    ("sleep", include_str!("../files/sleep.toml")),
    ("rearm", include_str!("../files/rearm.toml")),
    ("stacking-policies", include_str!("../files/stacking-policies.toml")),
    ("stacking-policies-40", include_str!("../files/stacking-policies-40.toml")),
    ("sleep-policies", include_str!("../files/sleep-policies.toml")),
    ("sleep-policies-calls", include_str!("../files/sleep-policies-calls.toml")),
    ("rearm-policies", include_str!("../files/rearm-policies.toml")),
    ("staircase-policies", include_str!("../files/staircase-policies.toml")),
];

/// How long an experiment runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Length {
    /// How many rounds; each runs a block of every condition.
    pub rounds: u32,
    /// How long one block, in ms.
    pub block_ms: u64,
    /// How much of a block's beginning is thrown away, in ms.
    pub warm_up_ms: u64,
}

impl Length {
    /// How long one block measures.
    pub fn block(&self) -> Duration {
        Duration::from_millis(self.block_ms)
    }

    /// How long a load runs before a block measures.
    pub fn warm_up(&self) -> Duration {
        Duration::from_millis(self.warm_up_ms)
    }

    fn check(&self) -> Result<(), String> {
        let Self { rounds, block_ms, warm_up_ms } = *self;
        if !(1..=ROUNDS_MAX).contains(&rounds) {
            return Err(format!("rounds is {rounds}; it must be from 1 to {ROUNDS_MAX}"));
        }
        if !(BLOCK_MS_MIN..=BLOCK_MS_MAX).contains(&block_ms) {
            return Err(format!(
                "block-ms is {block_ms}; it must be from {BLOCK_MS_MIN} to {BLOCK_MS_MAX}"
            ));
        }
        if warm_up_ms > BLOCK_MS_MAX {
            return Err(format!("warm-up-ms is {warm_up_ms}; it must be at most {BLOCK_MS_MAX}"));
        }
        Ok(())
    }
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
    /// Mean and maximum over the first number that varies between conditions, a line for each
    /// combination of what else varies.
    Curve,
}

impl Experiment {
    /// The experiments that come with tardy: name and the text of the file.
    pub fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
        KNOWN.into_iter()
    }

    /// One that comes with tardy, by its name.
    ///
    /// # Errors
    /// Where there is none of that name.
    pub fn named(name: &str) -> Result<Self, ExperimentError> {
        let found = Self::known().find(|(known, _)| *known == name);
        let (name, text) = found.ok_or_else(|| ExperimentError::Unknown {
            name: name.to_owned(),
            known: Self::known().map(|(name, _)| name).collect::<Vec<_>>().join(", "),
        })?;
        Self::parse(text, name)
    }

    /// One's own, from a file.
    ///
    /// # Errors
    /// Where it cannot be read, or makes no sense.
    pub fn read(path: &Path) -> Result<Self, ExperimentError> {
        Self::parse(&folder::read_text(path)?, &path.display().to_string())
    }

    fn parse(text: &str, origin: &str) -> Result<Self, ExperimentError> {
        let wrong = |why| ExperimentError::Wrong { origin: origin.to_owned(), why };
        let mut experiment: Self =
            toml::from_str(text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
        for grid in std::mem::take(&mut experiment.grids) {
            let room = CONDITIONS_MAX.saturating_sub(experiment.conditions.len());
            experiment.conditions.extend(grid::conditions(&grid, room).map_err(wrong)?);
        }
        experiment.check().map_err(wrong)?;
        Ok(experiment)
    }

    /// As it is written down, without comments.
    pub(crate) fn to_toml(&self) -> String {
        toml::to_string(self).expect("every field of it is one that TOML knows")
    }

    /// The same with another number of rounds, at either length.
    ///
    /// # Errors
    /// Where that is none that can be run.
    pub fn with_rounds(mut self, rounds: u32) -> Result<Self, ExperimentError> {
        self.default.rounds = rounds;
        self.full.rounds = rounds;
        let wrong = |why| ExperimentError::Wrong { origin: self.name.clone(), why };
        self.check().map_err(wrong)?;
        Ok(self)
    }

    /// How long it runs.
    pub fn length(&self, is_full: bool) -> Length {
        if is_full { self.full } else { self.default }
    }

    /// What is measured in one of its conditions.
    pub(crate) fn subject(&self, condition: &Condition) -> Result<Box<dyn Subject>, String> {
        let mut parameters = self.measure.clone();
        parameters.extend(condition.measure.clone());
        subject::parse(parameters).map_err(|why| format!("measure of {}: {why}", condition.name))
    }

    /// The policies of kernel threads in one of its conditions.
    pub(crate) fn kernel_threads(&self, condition: &Condition) -> Result<Wanted, String> {
        let mut written = self.kernel_threads.clone();
        written.extend(condition.kernel_threads.clone());
        kernel_threads::wanted(&written)
            .map_err(|why| format!("kernel-threads of {}: {why}", condition.name))
    }

    /// The kernel's timer policies in one of its conditions.
    pub(crate) fn timer_policy(
        &self,
        condition: &Condition,
    ) -> Result<timer_policy::Wanted, String> {
        let mut written = self.timer_policy.clone();
        written.extend(condition.timer_policy.clone());
        timer_policy::wanted(&written)
            .map_err(|why| format!("timer-policy of {}: {why}", condition.name))
    }

    fn check(&self) -> Result<(), String> {
        is_name(&self.name).map_err(|why| format!("name: {why}"))?;
        for (name, length) in [("default", &self.default), ("full", &self.full)] {
            length.check().map_err(|why| format!("{name}: {why}"))?;
        }
        let count = self.conditions.len();
        if !(1..=CONDITIONS_MAX).contains(&count) {
            return Err(format!("{count} conditions; there must be 1 to {CONDITIONS_MAX}"));
        }
        for (place, condition) in self.conditions.iter().enumerate() {
            let name = &condition.name;
            is_name(name).map_err(|why| format!("condition {place}: {why}"))?;
            if self.conditions[..place].iter().any(|other| other.name == *name) {
                return Err(format!("two conditions are called {name}"));
            }
            condition.check().map_err(|why| format!("condition {name}: {why}"))?;
            self.subject(condition)?;
            self.kernel_threads(condition)?;
            self.timer_policy(condition)?;
        }
        if let Some(name) = self.reported.keys().find(|name| !self.has_condition(name)) {
            return Err(format!("reported: there is no condition {name}"));
        }
        Ok(())
    }

    fn has_condition(&self, name: &str) -> bool {
        self.conditions.iter().any(|condition| condition.name == name)
    }
}

/// Names stand in paths, in `DIR:CONDITION` and in tables.
fn is_name(name: &str) -> Result<(), String> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_fine) {
        return Err(format!(
            "{name:?} is not a valid name: use letters, digits, -, _ and ., at \
            most 64"
        ));
    }
    Ok(())
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, block_ms, .. } = self;
        write!(f, "{rounds} rounds of blocks of {:.1} s", *block_ms as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"
        name = "one"
        title = "One"
        question = "Why?"
        table = "min-avg-max"
        measure = { kind = "cyclic", interval = "237us", prio = 98 }
        default = { rounds = 2, block-ms = 20, warm-up-ms = 0 }
        full = { rounds = 20, block-ms = 20, warm-up-ms = 0 }
        [[condition]]
        name = "idle"
        [[condition]]
        name = "storm"
        load = "storm:3"
        needs = ["cpus-1"]
    "#;

    #[test]
    fn those_that_come_along_are_good_and_survive_being_written() {
        for (name, _) in Experiment::known() {
            let experiment = Experiment::named(name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(experiment.name, name);
            assert!(!experiment.source.is_empty());
            assert_eq!(Experiment::parse(&experiment.to_toml(), name).unwrap(), experiment);
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        assert_eq!(Experiment::parse(ONE, "one").unwrap().conditions.len(), 2);
        for (from, to, said) in [
            ("storm:3", "strom:3", "condition storm: there is no load `strom`"),
            ("\"storm\"", "\"idle\"", "two conditions are called idle"),
            ("cpus-1", "cpus", "there is no need `cpus`"),
            ("237us", "237 furlongs", "no unit"),
            (
                "cyclic",
                "cycle",
                "there is no kind `cycle`; there are: cyclic, pi, staircase, sleep, rearm, kernel-timer",
            ),
            ("prio = 98", "prios = 98", "unknown field `prios`"),
            ("rounds = 2,", "rounds = 0,", "default: rounds is 0; it must be from 1"),
            ("block-ms = 20,", "block-ms = 1,", "block-ms is 1; it must be from 10"),
            ("\"one\"", "\"../one\"", "is not a valid name"),
            ("min-avg-max", "avg", "unknown variant `avg`"),
            ("full =", "fool =", "unknown field `fool`"),
        ] {
            let text = ONE.replacen(from, to, 1);
            assert_ne!(text, ONE);
            let error = Experiment::parse(&text, "one").unwrap_err().to_string();
            assert!(error.contains(said), "{to}: {error}");
        }
        let error = Experiment::named("two").unwrap_err().to_string();
        assert!(error.contains("there are: stacking, "), "{error}");
    }
}
