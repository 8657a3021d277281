//! What is to come out: measured figures, and how far a simulation is off.

use crate::failure::Failure;
use std::collections::BTreeMap;
use std::path::Path;
use tardy_experiment::{Truth, TruthRow};
use tardy_import::histogram;
use tardy_report::units::duration;
use tardy_sim::file::Template;
use tardy_stats::Counted;

/// Measured rows, and which of their figures count.
pub(super) struct Targets {
    rows: Vec<TruthRow>,
    figures: Vec<String>,
    /// The rows are those of a histogram: their names say nothing of the system's.
    by_place: bool,
}

/// How far a figure is off.
pub(super) struct Off {
    pub(super) condition: String,
    pub(super) series: String,
    pub(super) figure: String,
    pub(super) measured_ns: f64,
    pub(super) simulated_ns: f64,
}

impl Off {
    fn share(&self) -> f64 {
        self.simulated_ns / self.measured_ns - 1.0
    }

    /// What it counts: the square of the error, by how sure a measured figure of its kind is.
    pub(super) fn weighed(&self) -> f64 {
        let sure = match self.figure.as_str() {
            "mean" | "p50" => 0.02,
            "p99" | "p90" => 0.05,
            "max" => 0.15,
            _ => 0.08,
        };
        (self.share() / sure).powi(2)
    }

    pub(super) fn line(&self) -> String {
        let Self { condition, series, figure, .. } = self;
        let ns = |ns: f64| duration(ns.round() as u64);
        let name = if condition.is_empty() { series } else { condition };
        format!(
            "{name} {figure}: measured {}, fitted {} ({:+.1} %)",
            ns(self.measured_ns),
            ns(self.simulated_ns),
            self.share() * 100.0
        )
    }
}

impl Targets {
    /// Reads what was measured, and keeps the rows of these conditions.
    pub(super) fn read(path: &Path, rows: &[String], figures: &[String]) -> Result<Self, Failure> {
        let (all, by_place) = if Truth::is_one(path) {
            (Truth::read(path)?.rows, false)
        } else {
            (counted(path)?, true)
        };
        if let Some(missing) =
            rows.iter().find(|name| !all.iter().any(|row| row.condition == **name))
        {
            return Err(Failure::usage(format!("{} has no condition {missing}", path.display())));
        }
        let wanted = |row: &TruthRow| {
            (rows.is_empty() || rows.contains(&row.condition)) && !row.series.is_empty()
        };
        let rows: Vec<TruthRow> = all.into_iter().filter(wanted).collect();
        let figures = figures.to_vec();
        Ok(Self { rows, figures, by_place })
    }

    /// Leaves of a system's conditions those that were measured.
    pub(super) fn choose(&self, template: &mut Template) -> Result<(), Failure> {
        // Without conditions it is the policies that have names.
        let is_one = template.conditions.iter().all(|condition| condition.name.is_empty());
        if self.by_place || is_one {
            return Ok(());
        }
        let measured = |name: &String| self.rows.iter().any(|row| row.condition == *name);
        template.conditions.retain(|condition| measured(&condition.name));
        if template.conditions.is_empty() {
            return Err(Failure::usage("none of the system's conditions was measured"));
        }
        Ok(())
    }

    /// How far off a simulation is.
    pub(super) fn off(&self, simulated: &Truth) -> Result<Vec<Off>, Failure> {
        let mut off = Vec::new();
        let watched = |row: &&TruthRow| !row.series.is_empty();
        for (place, row) in self.rows.iter().enumerate() {
            let of: Vec<&TruthRow> = simulated
                .rows
                .iter()
                .filter(watched)
                .filter(|other| self.by_place || other.condition == row.condition)
                .collect();
            let same = of.iter().find(|other| other.series == row.series);
            let other = match same {
                Some(other) => *other,
                None if self.by_place && of.len() == self.rows.len() => of[place],
                None if of.len() == 1 => of[0],
                // A series that the system does not have is left to others.
                None => continue,
            };
            for figure in &self.figures {
                let Some(measured_ns) = told(row, figure) else { continue };
                let Some(simulated_ns) = told(other, figure) else { continue };
                off.push(Off {
                    condition: row.condition.clone(),
                    series: row.series.clone(),
                    figure: figure.clone(),
                    measured_ns,
                    simulated_ns,
                });
            }
        }
        if off.is_empty() {
            return Err(Failure::usage(
                "no condition and series occurs in both the measured and the simulated figures",
            ));
        }
        Ok(off)
    }
}

fn told(row: &TruthRow, figure: &str) -> Option<f64> {
    let name = format!("{figure}_ns");
    let column = tardy_experiment::Column::ALL.into_iter().find(|column| column.name() == name);
    match column {
        Some(column) => row.get(column).map(|ns| ns as f64),
        None => row.figures.get(&name).copied(),
    }
}

/// The rows of a histogram. A bin counts as its middle, as tools cut to whole units.
fn counted(path: &Path) -> Result<Vec<TruthRow>, Failure> {
    let histograms = histogram::open(path)?;
    let half_ns = histograms.bin_ns / 2;
    let mut rows = Vec::new();
    for one in histograms.rows {
        let bins = one.bins.iter().map(|(from_ns, count)| (from_ns + half_ns, *count));
        let all = Counted::new(bins.collect::<Vec<_>>());
        let mut row = TruthRow::new(String::new(), BTreeMap::new(), one.name.clone());
        row.set(tardy_experiment::Column::Mean, Some(all.mean_ns().round() as u64));
        row.set(tardy_experiment::Column::Max, one.max_ns);
        row.set(tardy_experiment::Column::P50, all.quantile_ns(0.5));
        row.set(tardy_experiment::Column::P99, all.quantile_ns(0.99));
        row.set(tardy_experiment::Column::P999, all.quantile_ns(0.999));
        for (name, q) in super::table::QUANTILES {
            if let Some(ns) = all.quantile_ns(q) {
                row.figures.insert(name.to_owned(), ns as f64);
            }
        }
        rows.push(row);
    }
    Ok(rows)
}
