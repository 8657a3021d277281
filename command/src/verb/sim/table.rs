//! Simulated figures as a table, in the form of those that were measured (`docs/truth`).

use super::runs::{Group, PolicyRuns};
use std::collections::BTreeSet;
use tardy_experiment::{Column, Truth, TruthRow};

/// Quantiles beside those of the table's own columns.
pub(super) const QUANTILES: [(&str, f64); 6] = [
    ("p90_ns", 0.9),
    ("p95_ns", 0.95),
    ("p9999_ns", 0.9999),
    ("p99999_ns", 0.99999),
    ("p999999_ns", 0.999_999),
    ("p9999999_ns", 0.999_999_9),
];

/// The name of the column for how often the device was programmed for each move of a timer.
const PER_MOVE: &str = "programmings_per_move";
/// The same, by moves themselves; and how many there were.
const BY_MOVES: &str = "programmings_by_moves";
const MOVES: &str = "moves";
/// Calls for locks with priority inheritance, priorities lent for them, and those lent twice, as `tardy experiment
/// pi-spike` calls them.
const LOCK_CALLS: &str = "slow_calls";
const BOOSTS: &str = "boosts";
const DOUBLE_BOOSTS: &str = "double_boosts";
const PER_SECOND: &str = "programmed_per_s";
/// The share of all CPUs' time that this took.
const SHARE: &str = "programming_share";

/// A row per condition, policy and entry of the file that is watched. `name` is the file's.
pub(super) fn table(results: &[PolicyRuns<'_>], name: &str) -> Truth {
    let told = |name: &str, value: String| (name.to_owned(), value);
    let mut truth = Truth {
        head: vec![
            told("experiment", name.to_owned()),
            told("command", crate::shell::arguments().collect::<Vec<_>>().join(" ")),
            told("tardy", env!("CARGO_PKG_VERSION").to_owned()),
            told("kernel", "simulated".to_owned()),
            told("clock", "simulated".to_owned()),
            told("max_ns", "the median of the maxima of measurements as long as these".to_owned()),
        ],
        ..Truth::default()
    };
    for runs in results {
        // A condition that has a policy of its own needs no word of it in its name.
        let is_other = |one: &PolicyRuns<'_>| {
            one.case.condition.name == runs.case.condition.name && one.policy != runs.policy
        };
        let has_several = results.iter().any(is_other);
        let condition = match (runs.case.condition.name.as_str(), has_several) {
            ("", _) => runs.policy.to_owned(),
            (name, false) => name.to_owned(),
            (name, true) => format!("{}-{name}", runs.policy),
        };
        let mut at = runs.case.condition.at.clone();
        if has_several {
            at.insert("policy".to_owned(), runs.policy.to_owned());
        }
        for name in
            at.keys().filter(|name| !truth.parameters.contains(name)).cloned().collect::<Vec<_>>()
        {
            truth.parameters.push(name);
        }
        let place = |series: String| TruthRow::new(condition.clone(), at.clone(), series);
        for group in runs.by_group() {
            let mut row = place(group.name.clone());
            fill(&mut row, &group, runs.case.file.rounds);
            truth.rows.push(row);
        }
        let mut own = place(String::new());
        own.figures.insert(PER_SECOND.to_owned(), runs.programmed_per_s());
        own.figures.insert(SHARE.to_owned(), runs.programming_share());
        if let Some((share, by_moves)) = runs.programmed_per_move() {
            own.figures.insert(PER_MOVE.to_owned(), share);
            own.figures.insert(BY_MOVES.to_owned(), by_moves);
            own.figures.insert(MOVES.to_owned(), runs.totals.moves as f64);
        }
        if runs.totals.lock_calls > 0 {
            let totals = &runs.totals;
            for (name, value) in [
                (LOCK_CALLS, totals.lock_calls),
                (BOOSTS, totals.boosts),
                (DOUBLE_BOOSTS, totals.double_boosts),
            ] {
                own.figures.insert(name.to_owned(), value as f64);
            }
        }
        truth.rows.push(own);
    }
    let figures: BTreeSet<&String> = truth.rows.iter().flat_map(|row| row.figures.keys()).collect();
    truth.figures = figures.into_iter().cloned().collect();
    truth
}

fn fill(row: &mut TruthRow, group: &Group, rounds: u32) {
    let all = &group.all;
    let n = all.count();
    let quantile = |q: f64| ((1.0 - q) * n as f64 >= 1.0).then(|| all.quantile_ns(q));
    for (column, value) in [
        (Column::N, Some(n)),
        (Column::Rounds, Some(u64::from(rounds))),
        (Column::Min, Some(all.min_ns())),
        (Column::Mean, Some(all.mean_ns().round() as u64)),
        (Column::P50, quantile(0.5)),
        (Column::P99, quantile(0.99)),
        (Column::P999, quantile(0.999)),
        (Column::Max, Some(group.max_median_ns)),
        (Column::MeanLow, Some(group.means_ns.0)),
        (Column::MeanHigh, Some(group.means_ns.1)),
        (Column::MaxLow, Some(group.max_low_ns)),
    ] {
        row.set(column, value);
    }
    for (name, q) in QUANTILES {
        if let Some(ns) = quantile(q) {
            row.figures.insert(name.to_owned(), ns as f64);
        }
    }
}
