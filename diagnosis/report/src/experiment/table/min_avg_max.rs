//! Minimum, mean, maximum per condition and thread, as cyclictest tells them, with the quantiles that
//! a maximum hides and what each is sure to.

use super::{CCDF, HISTOGRAM, Lines, Plot, View, largest};
use crate::experiment::grid::{Grid, Holds};
use crate::experiment::measured::{Measured, Shown, us, us_or_blank};
use crate::experiment::quantile::with_interval;
use crate::units::count;
use tardy_stats::Counted;

pub(super) struct MinAvgMax;

/// What the source reports, in the order of its columns.
const REPORTED: [(&str, &str); 3] =
    [("min", "source min"), ("mean", "source avg"), ("max", "source max")];

impl View for MinAvgMax {
    fn grids(&self, shown: &Shown<'_>) -> Vec<Grid> {
        let mut grid = Grid::new("Latency in µs, per condition and thread");
        grid.column("condition", Holds::Name);
        grid.column("thread", Holds::Name);
        grid.measured(["n", "min", "avg", "max", "p99 (95 %)", "p99.9 (95 %)", "p99.99 (95 %)"]);
        for (_, head) in REPORTED {
            grid.column(head, Holds::Reported);
        }
        for group in shown.by_condition() {
            for one in group {
                let mut row = cells(&one.place.series, one);
                row.extend(REPORTED.map(|(what, _)| us_or_blank(shown.reported_ns(one, what))));
                grid.row(row);
            }
            if group.len() > 1 {
                let mut row = all_of(group);
                let of = |what| shown.reported.get(&group[0].condition, "", true, what);
                row.extend(REPORTED.map(|(what, _)| us_or_blank(of(what).map(|one| one.ns))));
                grid.row(row);
            }
        }
        for place in shown.reported_elsewhere() {
            let mut row = vec![place.0.to_owned(), place.1.to_owned()];
            row.resize(9, String::new());
            let of = |what| shown.elsewhere(place, what).map(|one| one.ns);
            row.extend(REPORTED.map(|(what, _)| us_or_blank(of(what))));
            grid.row(row);
        }
        grid.note(
            "A maximum grows with n: compare only maxima of the same n. “–” at the end of an \
             interval: too few values to bound it.",
        );
        vec![grid.without_empty_columns()]
    }

    fn says(&self, shown: &Shown<'_>) -> Option<String> {
        largest(shown)
    }

    fn plots(&self, shown: &Shown<'_>) -> Vec<Plot> {
        let lines = Lines::per_condition(shown);
        vec![
            Plot {
                title: "How late, how often".to_owned(),
                note: lines.note(&format!("{HISTOGRAM} All threads of a condition together.")),
                chart: lines.histogram(),
            },
            Plot { title: "The tail".to_owned(), note: lines.note(CCDF), chart: lines.ccdf() },
        ]
    }
}

fn cells(thread: &str, one: &Measured) -> Vec<String> {
    let mut row = extremes(&one.condition, thread, &one.whole);
    row.extend([0.99, 0.999, 0.9999].map(|q| with_interval(one, q)));
    row
}

/// All threads of a condition. Their quantiles are not told: threads differ, so an interval of all of
/// them together would mean little.
fn all_of(group: &[Measured]) -> Vec<String> {
    let whole = Counted::merged(group.iter().map(|one| &one.whole));
    let mut row = extremes(&group[0].condition, "all", &whole);
    row.resize(9, String::new());
    row
}

fn extremes(condition: &str, thread: &str, whole: &Counted) -> Vec<String> {
    vec![
        condition.to_owned(),
        thread.to_owned(),
        count(whole.count()),
        us_or_blank(whole.min_ns().map(|ns| ns as f64)),
        us(whole.mean_ns()),
        us_or_blank(whole.max_ns().map(|ns| ns as f64)),
    ]
}
