//! One side, read: rows by name, and samples of them.

use std::collections::BTreeMap;
use std::path::Path;
use tardy_explain::change::{Account, Taken};
use tardy_report::{SideFacts, SideSample};
use tardy_stats::{Counted, Sample};

/// One side.
pub(super) struct Opened {
    /// What is told of it.
    pub(super) facts: SideFacts,
    /// Settings of the machine and of the run, as far as they are known.
    pub(super) settings: BTreeMap<String, String>,
    /// Why each of its wakeups was late, in the order of the series; or why that is not known, a clause.
    pub(super) account: Result<Account, String>,
    /// Why its figures are to be taken with reserve, where something disturbed an experiment.
    pub(super) reserve: Option<String>,
    /// Names of threads, rows or methods, each once.
    pub(super) names: Vec<String>,
    /// Their latencies.
    pub(super) data: Data,
}

/// The latencies of a side.
pub(super) enum Data {
    /// One by one in order of time: whose (a place in the names), and how much in ns.
    Series(Vec<(u16, u64)>),
    /// Per name, block by block of an experiment.
    Blocks {
        /// The folder, and each block's round: blocks of one folder ran side by side.
        run: (std::path::PathBuf, Vec<u32>),
        /// Per name, one for each of the rounds.
        rows: Vec<Vec<Counted>>,
    },
    /// Per name, what a file has counted.
    Bins {
        /// The width of each bin.
        width_ns: u64,
        /// One per name.
        rows: Vec<Binned>,
    },
}

/// A row of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Binned {
    /// By the lower edge of each bin.
    pub(super) counted: Counted,
    /// How many lie above the bins.
    pub(super) over: u64,
    /// Where the bins end; `None` where there are none.
    pub(super) end_ns: Option<u64>,
    /// The least and the most, as the file tells them.
    pub(super) reported_ns: (Option<u64>, Option<u64>),
}

impl Opened {
    /// How many latencies a name has.
    pub(super) fn count(&self, row: usize) -> u64 {
        match &self.data {
            Data::Series(series) => {
                series.iter().filter(|(name, _)| usize::from(*name) == row).count() as u64
            }
            Data::Blocks { rows, .. } => rows[row].iter().map(Counted::count).sum(),
            Data::Bins { rows, .. } => rows[row].counted.count() + rows[row].over,
        }
    }

    /// Everything by name that is told of how it came about.
    pub(super) fn settings(&self) -> BTreeMap<String, String> {
        let mut settings: BTreeMap<String, String> =
            self.facts.circumstances.iter().cloned().collect();
        settings.extend(self.settings.clone());
        settings
    }

    /// What the wakeups of some rows were late by.
    ///
    /// # Errors
    /// Why that is not known, in a clause.
    pub(super) fn taken(&self, of: &[usize]) -> Result<Taken, String> {
        let account = self.account.as_ref().map_err(Clone::clone)?;
        let Data::Series(series) = &self.data else {
            return Err(format!("{} has no events", self.facts.name));
        };
        let wanted =
            |(at, (row, _)): (usize, &(u16, u64))| of.contains(&usize::from(*row)).then_some(at);
        account.taken(series.iter().enumerate().filter_map(wanted)).ok_or_else(|| {
            format!("{} has too many wakeups to break down by cause", self.facts.name)
        })
    }

    /// Whether rows of different names may be taken together unasked: methods and conditions of an
    /// experiment are different things.
    pub(super) fn can_merge(&self) -> bool {
        !matches!(self.data, Data::Blocks { .. }) || self.names.len() < 2
    }

    /// The sample of some rows taken together; series are cut into `blocks` of equal number.
    pub(super) fn sample(&self, of: &[usize], name: String, blocks: usize) -> SideSample {
        match &self.data {
            Data::Series(series) => {
                let wanted =
                    |(row, ns): &(u16, u64)| of.contains(&usize::from(*row)).then_some(*ns);
                let series: Vec<u64> = series.iter().filter_map(wanted).collect();
                let sample = Sample::of_series(name, &series, blocks);
                SideSample { sample, ..SideSample::default() }
            }
            Data::Blocks { rows, run } => {
                let block = |at: usize| Counted::merged(of.iter().map(|row| &rows[*row][at]));
                let blocks = (0..run.1.len()).map(block).filter(|block| !block.is_empty());
                let sample = Sample { name, blocks: blocks.collect(), resolution_ns: 1 };
                SideSample { sample, ..SideSample::default() }
            }
            Data::Bins { width_ns, rows } => {
                let rows: Vec<&Binned> = of.iter().map(|row| &rows[*row]).collect();
                let mut counted = Counted::merged(rows.iter().map(|row| &row.counted));
                let over_bins = rows.iter().map(|row| row.over).sum();
                // No bin holds them: they are later than any of them can be.
                let top_ns = rows.iter().filter_map(|row| row.end_ns).max().unwrap_or(0);
                counted.merge(&Counted::new([(top_ns, over_bins)]));
                // Where one row does not tell, the least of the others need not be the least of all.
                let all = |told: fn(&Binned) -> Option<u64>| -> Option<Vec<u64>> {
                    rows.iter().map(|row| told(row)).collect()
                };
                let reported_ns = (
                    all(|row| row.reported_ns.0).and_then(|told| told.into_iter().min()),
                    all(|row| row.reported_ns.1).and_then(|told| told.into_iter().max()),
                );
                let sample = Sample::unordered(name, counted, *width_ns);
                SideSample { sample, over_bins, reported_ns, tail: None }
            }
        }
    }
}

/// Gives each side that has no name the last part of its path; all of it where two would be called alike, with a
/// number where even that does not tell them apart.
pub(super) fn name_apart(sides: &mut [Opened]) {
    let short = |side: &Opened| {
        // What a path is chosen for by its end has no name: `.`, `..`, `/`.
        let path = Path::new(&side.facts.given);
        path.file_name()
            .map_or_else(|| side.facts.given.clone(), |name| name.to_string_lossy().into_owned())
    };
    let is_named: Vec<bool> = sides.iter().map(|side| !side.facts.name.is_empty()).collect();
    let names: Vec<String> = sides
        .iter()
        .map(|side| if side.facts.name.is_empty() { short(side) } else { side.facts.name.clone() })
        .collect();
    for (place, side) in sides.iter_mut().enumerate() {
        let is_alone = names.iter().filter(|name| **name == names[place]).count() == 1;
        side.facts.name = if is_alone || is_named[place] {
            names[place].clone()
        } else {
            side.facts.given.clone()
        };
    }
    for place in 1..sides.len() {
        let name = sides[place].facts.name.clone();
        let before = sides[..place].iter().filter(|side| {
            let other = &side.facts.name;
            *other == name || other.strip_prefix(&name).is_some_and(|rest| rest.starts_with(" ("))
        });
        let before = before.count();
        if before > 0 {
            sides[place].facts.name = format!("{name} ({})", before + 1);
        }
    }
}

/// Whether all sides are conditions of one run of an experiment, with blocks of the same rounds: these
/// are compared in pairs.
pub(super) fn are_of_one_run(sides: &[Opened]) -> bool {
    let mut runs = sides.iter().map(|side| match &side.data {
        Data::Blocks { run, .. } => Some(run),
        _ => None,
    });
    let Some(Some(first)) = runs.next() else { return false };
    runs.all(|run| run == Some(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(data: Data, names: usize) -> Opened {
        Opened {
            facts: SideFacts::default(),
            settings: BTreeMap::new(),
            account: Err("no events".to_owned()),
            reserve: None,
            names: (0..names).map(|at| format!("t{at}")).collect(),
            data,
        }
    }

    #[test]
    fn sides_are_called_as_asked_for_or_as_their_files_and_all_differently() {
        let called = |given: &[(&str, &str)]| -> Vec<String> {
            let side = |(name, given): &(&str, &str)| {
                let mut side = opened(Data::Series(Vec::new()), 0);
                (side.facts.name, side.facts.given) = ((*name).to_owned(), (*given).to_owned());
                side
            };
            let mut sides: Vec<Opened> = given.iter().map(side).collect();
            name_apart(&mut sides);
            sides.into_iter().map(|side| side.facts.name).collect()
        };
        assert_eq!(called(&[("", "runs/a"), ("after", "runs/b")]), ["a", "after"]);
        assert_eq!(called(&[("", "one/run"), ("", "two/run")]), ["one/run", "two/run"]);
        assert_eq!(
            called(&[("", "run"), ("", "run"), ("run", "x")]),
            ["run", "run (2)", "run (3)"]
        );
    }

    #[test]
    fn threads_taken_together_stay_in_order_of_time() {
        let side = opened(Data::Series(vec![(0, 5), (1, 7), (0, 6), (1, 8)]), 2);
        let blocks = |of: &[usize]| side.sample(of, "A".to_owned(), 2).sample.blocks;
        assert_eq!(blocks(&[0, 1]), [Counted::of_values([5, 7]), Counted::of_values([6, 8])]);
        assert_eq!(blocks(&[1]), [Counted::of_values([7]), Counted::of_values([8])]);
        assert_eq!([side.count(0), side.count(1)], [2, 2]);
    }

    #[test]
    fn values_above_the_bins_are_counted_and_told_as_such() {
        let row = |over, told| Binned {
            counted: Counted::new([(0, 8), (10_000, 2)]),
            over,
            end_ns: Some(30_000),
            reported_ns: (Some(3_000), told),
        };
        let rows = vec![row(3, Some(99_000)), row(0, None)];
        let side = opened(Data::Bins { width_ns: 10_000, rows }, 2);
        let one = side.sample(&[0], "A".to_owned(), 32);
        assert_eq!((one.sample.count(), one.over_bins), (13, 3));
        assert_eq!((one.min_ns(), one.max_ns()), (Some(3_000), Some(99_000)));
        assert!(one.tells(0.7) && !one.tells(0.8));
        let both = side.sample(&[0, 1], "A".to_owned(), 32);
        assert_eq!((both.sample.count(), both.over_bins), (23, 3));
        assert_eq!(both.reported_ns, (Some(3_000), None), "what one does not tell is not made up");
    }
}
