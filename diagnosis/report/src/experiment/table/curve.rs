//! Mean and maximum over a number that varies.

use super::{Plot, View};
use crate::compare::words::plain;
use crate::experiment::curves::curves;
use crate::experiment::grid::{Grid, Holds};
use crate::experiment::measured::{Shown, us, us_or_blank};
use crate::experiment::quantile::with_interval;
use crate::plot::{self, LINES_MAX};
use crate::units::count;
use tardy_experiment::{Experiment, Truth};

pub(super) struct Curve;

/// What the source reports, in the order of its columns.
const REPORTED: [(&str, &str); 3] =
    [("min", "source min"), ("mean", "source avg"), ("max", "source max")];

impl View for Curve {
    fn grids(&self, shown: &Shown<'_>) -> Vec<Grid> {
        let names = parameters(&shown.results.experiment);
        let mut grid = Grid::new("Latency in µs, per condition");
        grid.column("condition", Holds::Name);
        for name in &names {
            grid.column(*name, Holds::Measured);
        }
        grid.column("thread", Holds::Words);
        grid.measured(["n", "min", "avg", "p99 (95 %)", "p99.9 (95 %)", "max"]);
        for (_, head) in REPORTED {
            grid.column(head, Holds::Reported);
        }
        for one in &shown.measured {
            let condition = &shown.results.experiment.conditions[one.place.condition];
            let whole = &one.whole;
            let mut row = vec![one.condition.clone()];
            row.extend(names.iter().map(|name| condition.stands_at(name).unwrap_or_default()));
            row.push(if one.is_only { String::new() } else { one.place.series.clone() });
            row.extend([
                count(whole.count()),
                us_or_blank(whole.min_ns().map(|ns| ns as f64)),
                us(whole.mean_ns()),
                with_interval(one, 0.99),
                with_interval(one, 0.999),
                us_or_blank(whole.max_ns().map(|ns| ns as f64)),
            ]);
            row.extend(REPORTED.map(|(what, _)| us_or_blank(shown.reported_ns(one, what))));
            grid.row(row);
        }
        for place in shown.reported_elsewhere() {
            let mut row = vec![place.0.to_owned()];
            row.resize(names.len() + 1, String::new());
            row.push(place.1.to_owned());
            row.resize(names.len() + 8, String::new());
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

    /// Where the lines end, which is where they differ most.
    fn says(&self, shown: &Shown<'_>) -> Option<String> {
        let curves = curves(&Truth::gathered(shown.results))?;
        let told: Vec<String> = curves
            .lines
            .iter()
            .take(LINES_MAX)
            .filter_map(|line| {
                let last = line.points.last()?;
                let name = if line.name.is_empty() { "all" } else { &line.name };
                Some(format!(
                    "“{name}” at {} {}: mean {}, largest {} (n = {})",
                    last.x,
                    curves.over,
                    plain(last.mean_ns),
                    plain(last.max_ns),
                    count(last.n)
                ))
            })
            .collect();
        (!told.is_empty()).then(|| format!("At the end of each line: {}.", told.join("; ")))
    }

    fn plots(&self, shown: &Shown<'_>) -> Vec<Plot> {
        let Some(curves) = curves(&Truth::gathered(shown.results)) else { return Vec::new() };
        let mut note = String::from(
            "Filled and solid: the mean. Hollow and dashed: the maximum, which grows with n. Upright \
             strokes reach over single rounds.",
        );
        let left_out = curves.lines.len().saturating_sub(LINES_MAX);
        if left_out > 0 {
            let more = format!(" {left_out} more lines have no colour left and are not drawn.");
            note.push_str(&more);
        }
        vec![Plot {
            title: format!("Latency over {}", curves.over),
            note,
            chart: plot::curve(&curves.over, &curves.lines),
        }]
    }
}

/// The names of what varies between conditions.
fn parameters(experiment: &Experiment) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in experiment.conditions.iter().flat_map(|condition| condition.at.keys()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}
