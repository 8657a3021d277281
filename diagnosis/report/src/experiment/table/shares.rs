//! The share of values in each microsecond, a column per method, as the mail of 2021 has it.

use super::{HISTOGRAM, Lines, Plot, View};
use crate::experiment::grid::{Grid, Holds};
use crate::experiment::measured::{Measured, Shown, us, us_or_blank};
use crate::experiment::quantile::with_interval;
use crate::plot::LINES_MAX;
use crate::sleep::letter;
use crate::sleep::shares::{Share, rows, shares_of};
use crate::units::count;
use std::collections::BTreeMap;
use tardy_stats::Counted;

pub(super) struct Shares;

const NS_PER_US: u64 = 1_000;

impl View for Shares {
    fn grids(&self, shown: &Shown<'_>) -> Vec<Grid> {
        let conditions = shown.by_condition();
        let mut grids: Vec<Grid> = conditions.iter().map(|group| figures(shown, group)).collect();
        grids.extend(conditions.iter().map(|group| shares(shown, group)));
        grids
    }

    fn plots(&self, shown: &Shown<'_>) -> Vec<Plot> {
        let mut plots = Vec::new();
        for group in shown.by_condition() {
            // More methods than colours: the next picture has the rest.
            for methods in group.chunks(LINES_MAX) {
                let of = |one: &Measured| (one.place.series.clone(), one.whole.clone());
                let lines = Lines::new(methods.iter().map(of).collect());
                plots.push(Plot {
                    title: format!("How long, how often: {}", group[0].condition),
                    note: HISTOGRAM.to_owned(),
                    chart: lines.histogram(),
                });
            }
        }
        plots
    }

    fn verbs(&self) -> [&'static str; 2] {
        ["Longer", "Shorter"]
    }
}

/// What each letter stands for, with its figures.
fn figures(shown: &Shown<'_>, group: &[Measured]) -> Grid {
    let mut grid = Grid::new(format!("Elapsed time in µs: {}", group[0].condition));
    grid.column("", Holds::Name);
    grid.column("method", Holds::Name);
    grid.measured(["n", "mean", "p50 (95 %)", "p99.9 (95 %)", "max", "CPU"]);
    grid.column("source mean", Holds::Reported);
    for (place, one) in group.iter().enumerate() {
        let whole = &one.whole;
        let cpu = shown.results.figure(&one.place, "cpu_mean_ns");
        grid.row(vec![
            letter(place),
            one.place.series.clone(),
            count(whole.count()),
            us(whole.mean_ns()),
            with_interval(one, 0.5),
            with_interval(one, 0.999),
            us_or_blank(whole.max_ns().map(|ns| ns as f64)),
            us_or_blank(cpu.map(|cpu| cpu.mean)),
            us_or_blank(shown.reported_ns(one, "mean")),
        ]);
    }
    for place in shown.reported_elsewhere() {
        if let Some(mean) = shown.elsewhere(place, "mean") {
            let mut row = vec![String::new(), name_of(place)];
            row.resize(8, String::new());
            row.push(us(mean.ns));
            grid.row(row);
        }
    }
    grid.without_empty_columns()
}

/// Microseconds down, methods across; the running total beside each share, as in the mail.
fn shares(shown: &Shown<'_>, group: &[Measured]) -> Grid {
    let mut grid = Grid::new(format!("Share per microsecond in %: {}", group[0].condition));
    grid.column("µs", Holds::Name);
    let mut columns: Vec<BTreeMap<u64, Share>> = Vec::new();
    for (place, one) in group.iter().enumerate() {
        grid.column(letter(place), Holds::Measured);
        grid.column("total", Holds::Measured);
        grid.column(format!("source {}", letter(place)), Holds::Reported);
        columns.push(shares_of(micros(&one.whole).into_iter()));
    }
    let elsewhere = shown.reported_elsewhere();
    for &place in &elsewhere {
        grid.column(format!("source: {}", name_of(place)), Holds::Reported);
    }
    let percent = |share: f64| format!("{:.2}", share * 100.0);
    let (shown_us, left_out) = rows(&columns);
    for at_us in shown_us {
        let what = format!("share_{at_us}");
        let mut row = vec![at_us.to_string()];
        for (one, shares) in group.iter().zip(&columns) {
            let share = shares.get(&at_us);
            row.push(share.map_or_else(String::new, |share| percent(share.share)));
            row.push(share.map_or_else(String::new, |share| percent(share.total)));
            let reported =
                shown.reported.get(&one.condition, &one.place.series, one.is_only, &what);
            row.push(reported.map_or_else(String::new, |reported| percent(reported.value)));
        }
        for &place in &elsewhere {
            let reported = shown.elsewhere(place, &what);
            row.push(reported.map_or_else(String::new, |reported| percent(reported.value)));
        }
        grid.row(row);
    }
    let names: Vec<String> = group
        .iter()
        .enumerate()
        .map(|(place, one)| {
            format!("{}: {} (n = {})", letter(place), one.place.series, count(one.whole.count()))
        })
        .collect();
    grid.note(format!("{}. Total: up to and with that microsecond.", names.join("; ")));
    left_out.sentence().into_iter().for_each(|sentence| grid.note(sentence));
    grid.without_empty_columns()
}

/// What the source reports of a condition or method that is not here.
fn name_of((condition, series): (&str, &str)) -> String {
    if series.is_empty() { condition.to_owned() } else { format!("{condition}, {series}") }
}

/// How many values each whole microsecond has, ascending.
fn micros(counted: &Counted) -> Vec<(u64, u64)> {
    let classes = counted.classes();
    classes
        .chunk_by(|one, two| one.0 / NS_PER_US == two.0 / NS_PER_US)
        .map(|same| (same[0].0 / NS_PER_US, same.iter().map(|&(_, count)| count).sum()))
        .collect()
}
