//! The largest deviation from the timeline per thread, a column per condition.

use super::{Plot, View, largest};
use crate::experiment::grid::{Grid, Holds};
use crate::experiment::measured::{Shown, us, us_or_blank};
use crate::experiment::quantile::with_interval;
use crate::plot::{Dot, DotRow, LINES_MAX, dots};
use crate::units::count;

pub(super) struct Deviations;

impl View for Deviations {
    fn grids(&self, shown: &Shown<'_>) -> Vec<Grid> {
        vec![per_thread(shown), typical(shown)]
    }

    fn says(&self, shown: &Shown<'_>) -> Option<String> {
        largest(shown)
    }

    fn plots(&self, shown: &Shown<'_>) -> Vec<Plot> {
        let all = shown.by_condition();
        let conditions = &all[..all.len().min(LINES_MAX)];
        let names: Vec<&str> = conditions.iter().map(|group| group[0].condition.as_str()).collect();
        let dot = |condition: usize, series: &str| -> Option<Dot> {
            let one = shown.of(condition, series)?;
            Some(Dot {
                median_ns: one.whole.quantile_ns(0.5)?,
                p999_ns: one.whole.quantile_ns(0.999)?,
                max_ns: one.whole.max_ns()?,
                count: one.whole.count(),
                reported_ns: shown.reported_ns(one, "max"),
            })
        };
        let row = |name| DotRow {
            name,
            dots: conditions.iter().map(|group| dot(group[0].place.condition, name)).collect(),
        };
        let rows: Vec<DotRow<'_>> = shown.series_names().into_iter().map(row).collect();
        let mut note = String::from(
            "A dot is the largest deviation, of the n shown. The thick line reaches from the \
             median to p99.9.",
        );
        if !shown.reported.is_empty() {
            note.push_str(" A ring is what the source reports, from another machine.");
        }
        if all.len() > LINES_MAX {
            note.push_str(" The picture shows the first six conditions; the tables have all.");
        }
        vec![Plot { title: "Deviation per thread".to_owned(), note, chart: dots(&names, &rows) }]
    }
}

/// As in the mail: threads down, conditions across.
fn per_thread(shown: &Shown<'_>) -> Grid {
    let conditions = shown.by_condition();
    let mut elsewhere: Vec<&str> =
        shown.reported_elsewhere().into_iter().map(|(condition, _)| condition).collect();
    elsewhere.dedup();
    let mut grid = Grid::new("Largest deviation in µs, per thread");
    grid.column("thread", Holds::Name);
    for group in &conditions {
        grid.column(format!("{} (n)", group[0].condition), Holds::Measured);
        grid.column(format!("source {}", group[0].condition), Holds::Reported);
    }
    for name in &elsewhere {
        grid.column(format!("source {name}"), Holds::Reported);
    }
    for series in shown.series_names() {
        let mut row = vec![series.to_owned()];
        for group in &conditions {
            let one = shown.of(group[0].place.condition, series);
            let max = one.and_then(|one| Some((one.whole.max_ns()?, one.whole.count())));
            row.push(
                max.map_or_else(String::new, |(ns, n)| format!("{} ({})", us(ns as f64), count(n))),
            );
            row.push(us_or_blank(one.and_then(|one| shown.reported_ns(one, "max"))));
        }
        for name in &elsewhere {
            let reported = shown.reported.get(name, series, false, "max");
            row.push(us_or_blank(reported.map(|one| one.ns)));
        }
        grid.row(row);
    }
    grid.note(
        "The largest deviation grows with n and with the length of the run: compare only those \
            of the same n.",
    );
    grid.without_empty_columns()
}

/// What the largest hides.
fn typical(shown: &Shown<'_>) -> Grid {
    let conditions = shown.by_condition();
    let mut grid = Grid::new("Mean and p99.9 with its 95 % interval in µs, per thread");
    grid.column("thread", Holds::Name);
    for group in &conditions {
        grid.column(format!("{}: mean", group[0].condition), Holds::Measured);
        grid.column("p99.9", Holds::Measured);
    }
    for series in shown.series_names() {
        let mut row = vec![series.to_owned()];
        for group in &conditions {
            let one = shown.of(group[0].place.condition, series);
            row.push(one.map_or_else(String::new, |one| us(one.whole.mean_ns())));
            row.push(one.map_or_else(String::new, |one| with_interval(one, 0.999)));
        }
        grid.row(row);
    }
    grid.without_empty_columns()
}
