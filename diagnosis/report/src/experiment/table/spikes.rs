//! The maximum per condition, and how often it was far out: a spike is told by how far it lies from
//! the median of its own sample.

use super::{CCDF, Lines, Plot, View};
use crate::experiment::grid::{Grid, Holds};
use crate::experiment::measured::{Measured, Shown, us_or_blank};
use crate::experiment::quantile::with_interval;
use crate::units::count;
use tardy_experiment::Place;

pub(super) struct Spikes;

/// From how many times the median a value counts as far out.
const FAR_OUT: [u64; 2] = [2, 5];

/// The figure that tells how often a lock's holder was boosted, per lock call.
const BOOSTS: &str = "boosts_per_lock";

impl View for Spikes {
    fn grids(&self, shown: &Shown<'_>) -> Vec<Grid> {
        let mut grid = Grid::new("Spikes, times in µs");
        grid.column("condition", Holds::Name);
        grid.column("time of", Holds::Name);
        grid.measured(["n", "median", "p99.9 (95 %)", "max"]);
        for times in FAR_OUT {
            grid.column(format!("above {times}× median"), Holds::Measured);
        }
        grid.measured(["boosts per lock"]);
        grid.column("source max", Holds::Reported);
        grid.column("source boosts", Holds::Reported);
        for one in &shown.measured {
            let whole = &one.whole;
            let median_ns = whole.quantile_ns(0.5);
            let mut row = vec![
                one.condition.clone(),
                one.place.series.clone(),
                count(whole.count()),
                us_or_blank(median_ns.map(|ns| ns as f64)),
                with_interval(one, 0.999),
                us_or_blank(whole.max_ns().map(|ns| ns as f64)),
            ];
            row.extend(FAR_OUT.map(|times| count(above(one, median_ns, times))));
            row.push(boosts(shown, one));
            row.push(us_or_blank(shown.reported_ns(one, "max")));
            let reported =
                shown.reported.get(&one.condition, &one.place.series, one.is_only, BOOSTS);
            row.push(reported.map_or_else(String::new, |boosts| format!("{:.3}", boosts.value)));
            grid.row(row);
        }
        for place in shown.reported_elsewhere() {
            let max = shown.elsewhere(place, "max");
            let boosts = shown.elsewhere(place, BOOSTS);
            let mut row = vec![place.0.to_owned(), place.1.to_owned()];
            row.resize(9, String::new());
            row.push(us_or_blank(max.map(|one| one.ns)));
            row.push(boosts.map_or_else(String::new, |boosts| format!("{:.3}", boosts.value)));
            grid.row(row);
        }
        grid.note(
            "A maximum grows with n; the numbers above a multiple of the median refer to the \
             same n.",
        );
        vec![grid.without_empty_columns()]
    }

    fn says(&self, shown: &Shown<'_>) -> Option<String> {
        let [_, times] = FAR_OUT;
        let mut told: Vec<String> = Vec::new();
        for group in shown.by_condition() {
            let first = group.first()?;
            let n = first.whole.count();
            let out = above(first, first.whole.quantile_ns(0.5), times);
            let boosts: Vec<String> = group
                .iter()
                .map(|one| boosts(shown, one))
                .filter(|boosts| !boosts.is_empty())
                .map(|boosts| format!(", {boosts} boosts per lock"))
                .collect();
            told.push(format!(
                "“{}” {} of {}{}",
                first.condition,
                count(out),
                count(n),
                boosts.concat()
            ));
        }
        let what = &shown.measured.first()?.place.series;
        Some(format!("Above {times} times their median ({what}): {}.", told.join("; ")))
    }

    fn plots(&self, shown: &Shown<'_>) -> Vec<Plot> {
        let lines = Lines::per_series(shown);
        vec![Plot { title: "The tail".to_owned(), note: lines.note(CCDF), chart: lines.ccdf() }]
    }
}

/// How many lie above `times` the median.
fn above(one: &Measured, median_ns: Option<u64>, times: u64) -> u64 {
    let Some(median_ns) = median_ns else { return 0 };
    one.whole.count() - one.whole.count_up_to(median_ns.saturating_mul(times))
}

/// Of the series, else of its condition's blocks; only beside the first series then.
fn boosts(shown: &Shown<'_>, one: &Measured) -> String {
    let own = shown.results.figure(&one.place, BOOSTS);
    let is_first = shown
        .measured
        .iter()
        .find(|other| other.place.condition == one.place.condition)
        .is_some_and(|first| first.place == one.place);
    let of_block = || {
        let place = Place { condition: one.place.condition, series: String::new() };
        is_first.then(|| shown.results.figure(&place, BOOSTS)).flatten()
    };
    own.or_else(of_block).map_or_else(String::new, |figure| format!("{:.3}", figure.mean))
}
