//! Tables of what changed and by whom. They are cut with a row of the others, so that what is shown sums to the change.

use crate::clean::clean;
use crate::palette::look;
use crate::units::count;
use tardy_explain::change::{Change, ChangeOf, ChangeRow, Who};
use tardy_model::Cause;

/// Why later sides are later, or why that cannot be told, a clause.
pub type Changed = Result<Change, String>;

/// A row of a table of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChangeLine {
    /// The cause's letter, where it is one.
    pub(super) cause: Option<Cause>,
    /// Whose it is, clean.
    pub(super) name: String,
    /// What it adds.
    pub(super) adds: ChangeOf,
}

impl ChangeLine {
    /// The letter of a cause, else nothing.
    pub(super) fn letter(&self) -> String {
        self.cause.map_or_else(String::new, |cause| look(cause).letter.to_string())
    }
}

/// The causes that changed most, then the others together where there are more than `max`.
pub(super) fn causes(change: &Change, max: usize) -> Vec<ChangeLine> {
    let line = |row: &ChangeRow<Cause>| ChangeLine {
        cause: Some(row.of),
        name: row.of.0.to_owned(),
        adds: row.adds,
    };
    cut(change.causes.iter().map(line).collect(), max)
}

/// The culprits that changed most, then the others together where there are more than `max`.
pub(super) fn culprits(change: &Change, max: usize) -> Vec<ChangeLine> {
    let line =
        |row: &ChangeRow<Who>| ChangeLine { cause: None, name: who_name(&row.of), adds: row.adds };
    cut(change.culprits.iter().map(line).collect(), max)
}

/// What a group of culprits is called, clean.
pub(super) fn who_name(who: &Who) -> String {
    if who.name.is_empty() { "unknown".to_owned() } else { clean(&who.name) }
}

fn cut(mut lines: Vec<ChangeLine>, max: usize) -> Vec<ChangeLine> {
    // What adds nothing is not missed in the sum.
    lines.retain(|line| line.adds != ChangeOf::default());
    // A row of the others says no more than the only other one would.
    if lines.len() > max + 1 {
        let others = lines.split_off(max);
        let adds = others.iter().map(|line| line.adds).fold(ChangeOf::default(), ChangeOf::plus);
        let name = format!("{} others", count(others.len() as u64));
        lines.push(ChangeLine { cause: None, name, adds });
    }
    lines
}

/// To the nanosecond, as rows are there to be added up: `−50.083 µs`, `+1,234.567 µs`.
pub(super) fn exact(ns: i64) -> String {
    let sign = if ns < 0 { "−" } else { "+" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:03} µs", count(ns / 1_000), ns % 1_000)
}

/// Of how many wakeups the worst are: `the worst 1 % are 200 and 199 wakeups`.
pub(super) fn worst_of(change: &Change) -> String {
    let [[a, b], [worst_a, worst_b]] = change.wakeups.map(|side| side.map(count));
    format!(
        "What each row adds to the change: to that of the mean of {a} and {b} wakeups, and to \
         that of the mean of their worst 1 %, {worst_a} and {worst_b}. The rows sum to the change, \
         to the nanosecond."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_is_told_to_the_nanosecond() {
        assert_eq!(
            [-50_083, 1_234_567, 0, -7].map(exact),
            ["−50.083 µs", "+1,234.567 µs", "+0.000 µs", "−0.007 µs"]
        );
    }

    fn change(adds: &[(i64, i64)]) -> Change {
        let row = |(at, adds): (usize, &(i64, i64))| ChangeRow {
            of: Who { kind: "task", name: at.to_string() },
            adds: ChangeOf { mean_ns: adds.0, worst_ns: adds.1 },
        };
        Change { culprits: adds.iter().enumerate().map(row).collect(), ..Change::default() }
    }

    proptest! {
        #[test]
        fn what_is_shown_sums_to_all_of_it(
            adds in prop::collection::vec((-1_000_000_i64..1_000_000, -9_000_000_i64..9_000_000), 0..20),
            max in 1_usize..8,
        ) {
            let lines = culprits(&change(&adds), max);
            prop_assert!(lines.len() <= max + 1);
            let sum = lines.iter().map(|line| line.adds).fold(ChangeOf::default(), ChangeOf::plus);
            let all = adds.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            prop_assert_eq!((sum.mean_ns, sum.worst_ns), all);
        }
    }
}
