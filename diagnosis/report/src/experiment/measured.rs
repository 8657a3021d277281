//! What was measured, gathered once for all parts.

use super::ExperimentData;
use super::reported::{Lookup, Reported};
use std::collections::BTreeSet;
use tardy_experiment::{Comparisons, Place, Results};
use tardy_stats::{Counted, Sample};

/// Results, comparisons, and what is gathered of them for all parts.
pub(super) struct Shown<'a> {
    pub(super) results: &'a Results,
    pub(super) comparisons: &'a Comparisons,
    /// Every series of every condition, in their order.
    pub(super) measured: Vec<Measured>,
    /// What the source reports.
    pub(super) reported: Lookup<'a>,
}

/// One series of one condition, all its blocks together.
pub(super) struct Measured {
    pub(super) place: Place,
    /// A name that no other has.
    pub(super) label: String,
    /// Its condition's name.
    pub(super) condition: String,
    /// Its blocks.
    pub(super) sample: Sample,
    /// All blocks as one.
    pub(super) whole: Counted,
    /// Whether its condition has no other series.
    pub(super) is_only: bool,
}

impl<'a> Shown<'a> {
    pub(super) fn new(data: ExperimentData<'a>) -> Self {
        let results = data.results;
        let places = results.places();
        let measured = places.iter().map(|place| {
            let sample = results.sample(place);
            let of_condition = places.iter().filter(|other| other.condition == place.condition);
            Measured {
                label: sample.name.clone(),
                condition: results.condition_name(place.condition).to_owned(),
                whole: sample.whole(),
                sample,
                is_only: of_condition.count() == 1,
                place: place.clone(),
            }
        });
        Self {
            results,
            comparisons: data.comparisons,
            measured: measured.collect(),
            reported: Lookup::new(&results.experiment),
        }
    }

    /// Conditions that have anything, in their order, each with its series.
    pub(super) fn by_condition(&self) -> Vec<&[Measured]> {
        self.measured.chunk_by(|one, two| one.place.condition == two.place.condition).collect()
    }

    /// The names of all series, in the order in which they first come.
    pub(super) fn series_names(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let names = self.measured.iter().map(|one| one.place.series.as_str());
        names.filter(|name| seen.insert(*name)).collect()
    }

    /// One series of one condition.
    pub(super) fn of(&self, condition: usize, series: &str) -> Option<&Measured> {
        let is_it =
            |one: &&Measured| one.place.condition == condition && one.place.series == series;
        self.measured.iter().find(is_it)
    }

    /// Conditions, with their series, that the source reports and that have no result here; the series
    /// is empty where a figure is of a whole condition.
    pub(super) fn reported_elsewhere(&self) -> Vec<(&'a str, &'a str)> {
        self.reported.elsewhere(|name| self.measured.iter().any(|one| one.condition == name))
    }

    /// What the source reports of one of these.
    pub(super) fn elsewhere(&self, place: (&str, &str), what: &str) -> Option<&Reported<'a>> {
        self.reported.get(place.0, place.1, place.1.is_empty(), what)
    }

    /// What the source reports of a series, in ns.
    pub(super) fn reported_ns(&self, one: &Measured, what: &str) -> Option<f64> {
        let found = self.reported.get(&one.condition, &one.place.series, one.is_only, what);
        found.map(|reported| reported.ns)
    }
}

/// Microseconds with a digit after the point, for columns whose head says the unit.
pub(super) fn us(ns: f64) -> String {
    format!("{:.1}", ns / 1000.0)
}

/// [`us`], or nothing.
pub(super) fn us_or_blank(ns: Option<f64>) -> String {
    ns.map_or_else(String::new, us)
}
