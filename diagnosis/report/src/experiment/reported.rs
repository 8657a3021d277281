//! What an experiment's source reports, found among its figures by name.
//!
//! A figure is `WHAT_UNIT`, of one series `SERIES.WHAT_UNIT`: `max_us`, `T0.max_us`, `share_54_us`,
//! `programmings_per_move`. A time without a unit is in nanoseconds.

use std::cell::Cell;
use std::collections::BTreeMap;
use tardy_experiment::Experiment;

/// What the source reports under one name of a condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reported<'a> {
    /// The condition, which may be one that the experiment does not have.
    pub(super) condition: &'a str,
    /// The figure as it is written.
    pub(super) key: &'a str,
    /// The series; `None` where the figure is of all of a condition.
    pub(super) series: Option<&'a str>,
    /// Without series and unit of time: `max`, `mean`, `programmings_per_move`.
    pub(super) what: String,
    /// As it is written.
    pub(super) value: f64,
    /// In ns, where it is a time.
    pub(super) ns: f64,
    /// Whether a table has asked for it, and so shows it.
    is_shown: Cell<bool>,
}

const UNITS: [(&str, f64); 4] = [("_ns", 1.0), ("_us", 1e3), ("_ms", 1e6), ("_s", 1e9)];

/// Everything that is reported.
pub(super) fn all(experiment: &Experiment) -> Vec<Reported<'_>> {
    experiment.reported.iter().flat_map(|(condition, figures)| of(condition, figures)).collect()
}

fn of<'a>(condition: &'a str, figures: &'a BTreeMap<String, f64>) -> Vec<Reported<'a>> {
    figures.iter().map(|(key, &value)| Reported::new(condition, key, value)).collect()
}

impl<'a> Reported<'a> {
    fn new(condition: &'a str, key: &'a str, value: f64) -> Self {
        // The last separator that a figure follows: `T0.max_us`, but not `p99.9_us`.
        let split = key
            .rmatch_indices(['.', '/', ' ', ':'])
            .find(|&(at, _)| key[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic()));
        let (series, figure) =
            split.map_or((None, key), |(at, _)| (Some(&key[..at]), &key[at + 1..]));
        let unit = UNITS.iter().find_map(|&(unit, ns)| Some((figure.strip_suffix(unit)?, ns)));
        let (what, per) = unit.unwrap_or((figure, 1.0));
        let what = match what {
            "avg" | "average" => "mean".to_owned(),
            "median" => "p50".to_owned(),
            other => other.replace('.', ""),
        };
        Self { condition, key, series, what, value, ns: value * per, is_shown: Cell::new(false) }
    }

    /// Whether it is of that series; `is_only` where that is all that its condition has.
    fn is_of(&self, series: &str, is_only: bool) -> bool {
        self.series.map_or(is_only, |own| own == series)
    }
}

/// Figures of one kind, looked up by condition and series.
#[derive(Clone, Debug)]
pub(super) struct Lookup<'a> {
    all: Vec<Reported<'a>>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(experiment: &'a Experiment) -> Self {
        Self { all: all(experiment) }
    }

    /// The figure `what` of that condition's series. `is_only`: the condition has but this one, so that
    /// a figure of the condition is this one's.
    pub(super) fn get(
        &self,
        condition: &str,
        series: &str,
        is_only: bool,
        what: &str,
    ) -> Option<&Reported<'a>> {
        let is_it = |one: &&Reported<'_>| one.condition == condition && one.what == what;
        let mut found = self.all.iter().filter(is_it);
        let found = found.find(|one| one.is_of(series, is_only))?;
        found.is_shown.set(true);
        Some(found)
    }

    /// Conditions, with their series, that the source reports and that `is_here` does not hold for.
    pub(super) fn elsewhere(&self, is_here: impl Fn(&str) -> bool) -> Vec<(&'a str, &'a str)> {
        let others = self.all.iter().filter(|one| !is_here(one.condition));
        let mut names: Vec<_> =
            others.map(|one| (one.condition, one.series.unwrap_or_default())).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether anything is reported.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What no table has asked for so far.
    pub(super) fn others(&self) -> Vec<&Reported<'a>> {
        self.all.iter().filter(|one| !one.is_shown.get()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_split_into_series_name_and_unit() {
        let one = |key| {
            let Reported { series, what, ns, .. } = Reported::new("storm", key, 2.0);
            (series.map(str::to_owned), what, ns)
        };
        let some = |series: &str| Some(series.to_owned());
        assert_eq!(one("max_us"), (None, "max".to_owned(), 2e3));
        assert_eq!(one("T0.max_us"), (some("T0"), "max".to_owned(), 2e3));
        assert_eq!(one("cyclic/1.avg_us"), (some("cyclic/1"), "mean".to_owned(), 2e3));
        assert_eq!(one("p99.9_us"), (None, "p999".to_owned(), 2e3));
        assert_eq!(one("T0.p99.9_ms"), (some("T0"), "p999".to_owned(), 2e6));
        assert_eq!(one("programmings_per_move").1, "programmings_per_move");
        assert_eq!(one("share_54_us").1, "share_54");
        for odd in ["", ".", "a.", "_us", "é."] {
            one(odd);
        }
    }
}
