//! Settings and changes in `tardy.compare/1`.

use super::change::Changed;
use super::{DifferingSetting, SettingsCompared, letter};
use serde::Serialize;
use tardy_explain::change::{Change, ChangeOf, Who};

/// Settings that differ, and how many do not.
#[derive(Debug, Serialize)]
pub(super) struct SettingsDocument<'a> {
    equal: u64,
    differing: Vec<SettingDocument<'a>>,
    /// Letters of sides that tell none.
    silent: Vec<String>,
}

#[derive(Debug, Serialize)]
struct SettingDocument<'a> {
    name: &'a str,
    /// One per side; `null` where it is not recorded.
    values: &'a [Option<String>],
}

impl<'a> From<&'a SettingsCompared> for SettingsDocument<'a> {
    fn from(settings: &'a SettingsCompared) -> Self {
        let of = |DifferingSetting { name, values }: &'a DifferingSetting| SettingDocument {
            name,
            values,
        };
        Self {
            equal: settings.equal,
            differing: settings.differing.iter().map(of).collect(),
            silent: settings.silent.iter().map(|at| letter(*at)).collect(),
        }
    }
}

/// What changed from A to a later side; `null` and a reason where that cannot be told.
#[derive(Debug, Serialize)]
pub(super) struct ChangeDocument<'a> {
    b: String,
    why: Option<&'a str>,
    wakeups: Option<WakeupsDocument>,
    total: Option<AddsDocument>,
    causes: Vec<CauseDocument>,
    culprits: Vec<CulpritDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct WakeupsDocument {
    /// Of A and of B.
    all: [u64; 2],
    worst: [u64; 2],
}

#[derive(Debug, Serialize)]
struct AddsDocument {
    mean_ns: i64,
    worst_ns: i64,
}

#[derive(Debug, Serialize)]
struct CauseDocument {
    cause: &'static str,
    #[serde(flatten)]
    adds: AddsDocument,
}

#[derive(Debug, Serialize)]
struct CulpritDocument<'a> {
    kind: &'static str,
    name: &'a str,
    #[serde(flatten)]
    adds: AddsDocument,
}

impl From<ChangeOf> for AddsDocument {
    fn from(ChangeOf { mean_ns, worst_ns }: ChangeOf) -> Self {
        Self { mean_ns, worst_ns }
    }
}

impl<'a> ChangeDocument<'a> {
    /// Of each later side.
    pub(super) fn of(changes: &'a [Changed]) -> Vec<Self> {
        let of = |(place, changed): (usize, &'a Changed)| match changed {
            Ok(change) => Self::told(letter(place), change),
            Err(why) => Self {
                b: letter(place),
                why: Some(why),
                wakeups: None,
                total: None,
                causes: Vec::new(),
                culprits: Vec::new(),
            },
        };
        (1..).zip(changes).map(of).collect()
    }

    fn told(b: String, change: &'a Change) -> Self {
        let [all, worst] = change.wakeups;
        let culprits = change.culprits.iter().map(|row| {
            let Who { kind, name } = &row.of;
            CulpritDocument { kind, name, adds: row.adds.into() }
        });
        let causes = change.causes.iter();
        Self {
            b,
            why: None,
            wakeups: Some(WakeupsDocument { all, worst }),
            total: Some(change.total.into()),
            causes: causes
                .map(|row| CauseDocument { cause: row.of.0, adds: row.adds.into() })
                .collect(),
            culprits: culprits.collect(),
        }
    }
}
