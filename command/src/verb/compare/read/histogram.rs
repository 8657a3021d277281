//! Another tool's histogram.
//!
//! A bin counts as its lower edge, with its width as resolution: tools cut to whole units, so that is
//! the number that they print themselves. What lies above the bins is counted apart.

use super::super::opened::{Binned, Data, Opened};
use super::{choose, circumstance};
use crate::failure::Failure;
use std::collections::BTreeMap;
use std::path::Path;
use tardy_import::histogram::{self, Histograms, Row};
use tardy_report::{SideFacts, SideKind, units};
use tardy_stats::Counted;

pub(super) fn read(given: &str, path: &Path, thread: Option<&str>) -> Result<Opened, Failure> {
    let histograms = histogram::open(path)?;
    let is_binned = |row: &Row| !row.bins.is_empty() || (row.binned() == 0 && row.count == 0);
    if !histograms.rows.iter().all(is_binned) {
        return Err(Failure::new(format!(
            "{given} has counts but no bins, so nothing can be tested: make {} write a histogram \
             (cyclictest -h 400 --histfile FILE)",
            histograms.tool
        )));
    }
    let circumstances = circumstances(&histograms);
    let mut notes = histograms.notes;
    let all: Vec<(String, Row)> = apart(histograms.rows);
    let rows = choose(given, all, thread)?;
    notes.push(format!("a bin of {} counts as its lower edge", units::duration(histograms.bin_ns)));
    let width_ns = histograms.bin_ns.max(1);
    let (names, rows): (Vec<String>, Vec<Binned>) =
        rows.into_iter().map(|(name, row)| (name, binned(&row, width_ns))).unzip();
    Ok(Opened {
        facts: SideFacts {
            given: given.to_owned(),
            kind: SideKind::Histogram,
            circumstances,
            notes,
            ..SideFacts::default()
        },
        settings: BTreeMap::new(),
        account: Err(format!("{given} is a histogram, which has no causes")),
        reserve: None,
        names,
        data: Data::Bins { width_ns, rows },
    })
}

fn binned(row: &Row, width_ns: u64) -> Binned {
    Binned {
        counted: Counted::new(row.bins.iter().map(|(from_ns, count)| (*from_ns, *count))),
        over: row.over,
        end_ns: row.end_ns(width_ns),
        reported_ns: (row.min_ns, row.max_ns),
    }
}

/// Rows with their names; a name that comes again gets a number behind it.
fn apart(rows: Vec<Row>) -> Vec<(String, Row)> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    rows.into_iter()
        .map(|row| {
            let times = seen.entry(row.name.clone()).or_default();
            *times += 1;
            let name = if *times == 1 { row.name.clone() } else { format!("{} {times}", row.name) };
            (name, row)
        })
        .collect()
}

/// What all rows of the file agree on.
fn circumstances(histograms: &Histograms) -> Vec<(String, String)> {
    let rows = &histograms.rows;
    let agreed = |of: &dyn Fn(&Row) -> Option<String>| {
        let first = rows.first().and_then(of)?;
        rows.iter().all(|row| of(row).as_ref() == Some(&first)).then_some(first)
    };
    let tool = format!("{} {}", histograms.tool, histograms.version);
    let told = [
        ("tool", Some(tool.trim_end().to_owned())),
        ("interval", agreed(&|row| row.interval_ns.map(units::duration))),
        ("policy", agreed(&|row| row.policy.map(str::to_owned))),
        ("priority", agreed(&|row| row.prio.map(|prio| prio.to_string()))),
    ];
    told.into_iter().filter_map(|(name, value)| circumstance(name, &value?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_name_are_told_apart() {
        let row = |name: &str| Row { name: name.to_owned(), ..Row::default() };
        let names: Vec<String> =
            apart(vec![row("a"), row("b"), row("a")]).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "b", "a 2"]);
    }

    #[test]
    fn only_what_all_rows_agree_on_is_told() {
        let row = |interval_ns, prio| Row { interval_ns, prio, ..Row::default() };
        let histograms = Histograms {
            tool: "cyclictest",
            rows: vec![row(Some(1_000_000), Some(80)), row(Some(1_500_000), Some(80))],
            ..Histograms::default()
        };
        let told = [("tool", "cyclictest"), ("priority", "80")];
        assert_eq!(circumstances(&histograms), told.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }
}
