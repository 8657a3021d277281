//! From an experiment's results to their figures.

use super::{Column, Truth, TruthRow, date, is_taken};
use crate::{Place, Results};
use std::collections::BTreeMap;
use tardy_stats::Counted;

impl Truth {
    /// The figures of what was measured, a row per condition and series.
    pub fn gathered(results: &Results) -> Self {
        let conditions = &results.experiment.conditions;
        let mut truth = Self { head: head(results), ..Self::default() };
        for name in conditions.iter().flat_map(|condition| condition.at.keys()) {
            if !truth.parameters.contains(name) {
                truth.parameters.push(name.clone());
            }
        }
        let series = results.places();
        for condition in 0..conditions.len() {
            let own = Place { condition, series: String::new() };
            let of = series.iter().filter(|place| place.condition == condition);
            for place in of.chain([&own]) {
                let row = row(results, place);
                if row.get(Column::N).is_some() || !row.figures.is_empty() {
                    truth.add(row);
                }
            }
        }
        truth
    }

    fn add(&mut self, row: TruthRow) {
        for name in row.figures.keys() {
            if !self.figures.contains(name) {
                self.figures.push(name.clone());
            }
        }
        self.rows.push(row);
    }
}

fn head(results: &Results) -> Vec<(String, String)> {
    let begun = results.blocks.iter().map(|block| block.begun_unix_s).min();
    let told = [
        ("experiment", results.experiment.name.clone()),
        ("command", results.command()),
        ("tardy", results.run.tardy_version.clone()),
        ("kernel", results.run.kernel.clone()),
        ("architecture", results.run.architecture.clone()),
        ("cpus", results.run.cpus.to_string()),
        ("clock", results.run.clock.clone()),
        // A guest in counted time counts from a date of its own.
        (
            "date",
            begun.filter(|_| results.run.guest.is_empty()).map(date::of_unix_s).unwrap_or_default(),
        ),
    ];
    let told = told.into_iter().filter(|(_, value)| !value.is_empty());
    told.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn row(results: &Results, place: &Place) -> TruthRow {
    let condition = &results.experiment.conditions[place.condition];
    let at = condition.at.keys();
    let at = at.filter_map(|name| Some((name.clone(), condition.stands_at(name)?))).collect();
    // A figure of a column's name would be read as that column.
    let names = results.figure_names(place).into_iter().filter(|name| !is_taken(name));
    let figures: BTreeMap<String, f64> = names
        .filter(|name| !condition.at.contains_key(*name))
        .filter_map(|name| Some((name.to_owned(), results.figure(place, name)?.mean)))
        .collect();
    let mut row = TruthRow {
        condition: condition.name.clone(),
        at,
        series: place.series.clone(),
        figures,
        ..TruthRow::default()
    };
    let sample = results.sample(place);
    let whole = sample.whole();
    if whole.is_empty() {
        return row;
    }
    let mean = |of: &Counted| of.mean_ns().round() as u64;
    let maxima = sample.blocks.iter().filter_map(Counted::max_ns);
    for (column, value) in [
        (Column::N, Some(whole.count())),
        (Column::Rounds, Some(sample.blocks.len() as u64)),
        (Column::Min, whole.min_ns()),
        (Column::Mean, Some(mean(&whole))),
        (Column::P50, quantile(&whole, 0.5)),
        (Column::P99, quantile(&whole, 0.99)),
        (Column::P999, quantile(&whole, 0.999)),
        (Column::Max, whole.max_ns()),
        (Column::MeanLow, sample.blocks.iter().map(mean).min()),
        (Column::MeanHigh, sample.blocks.iter().map(mean).max()),
        (Column::MaxLow, maxima.min()),
    ] {
        row.set(column, value);
    }
    row
}

/// `None` where there are too few for it to be anything but the maximum.
fn quantile(of: &Counted, q: f64) -> Option<u64> {
    if (1.0 - q) * (of.count() as f64) < 1.0 { None } else { of.quantile_ns(q) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Experiment, Figure, Fit, Fitness, Run, Series, SystemState};
    use std::time::Duration;

    fn block(condition: usize, round: u32, values: &[(u64, u64)]) -> Block {
        let series =
            Series { name: "cyclic-0".to_owned(), latencies: Counted::new(values.to_vec()) };
        Block {
            index: condition + round as usize * 2,
            condition,
            round,
            begun_unix_s: 1_577_836_800 + u64::from(round),
            length: Duration::from_millis(150),
            series: vec![series],
            figures: vec![
                Figure::of("cyclic-0", "overruns", f64::from(round)),
                Figure::of("cyclic-0", "mean_ns", 5.0),
                Figure::of("", "hz", 250.0),
            ],
            notes: vec![],
            before: SystemState::default(),
            after: SystemState::default(),
        }
    }

    #[test]
    fn results_become_a_row_per_condition_and_series() {
        let experiment = Experiment::named("stacking-curve").unwrap();
        let hard_2 = experiment.conditions.iter().position(|one| one.name == "hard-2").unwrap();
        let results = Results {
            experiment,
            run: Run {
                tardy_version: "0.1.0".to_owned(),
                seed: 7,
                kernel: "6.12.0-rt".to_owned(),
                architecture: "armv7l".to_owned(),
                clock: "counted, 500 MIPS".to_owned(),
                cpus: 1,
                ..Run::default()
            },
            blocks: vec![
                block(0, 0, &[(5_000, 900), (9_000, 99), (10_000, 1)]),
                block(hard_2, 0, &[(8_000, 60)]),
                block(hard_2, 1, &[(8_000, 59), (20_000, 1)]),
            ],
            planned: 3,
            fitness: Fitness { fit: Fit::Fit, why: vec![] },
            notes: vec![],
        };
        let expected = "\
# tardy figures 1
# experiment: stacking-curve
# command: tardy experiment stacking-curve --seed 7
# tardy: 0.1.0
# kernel: 6.12.0-rt
# architecture: armv7l
# cpus: 1
# clock: counted, 500 MIPS
# date: 2020-01-01
condition,threads,context,series,n,rounds,min_ns,mean_ns,p50_ns,p99_ns,p999_ns,max_ns,mean_low_ns,mean_high_ns,max_low_ns,overruns,hz
idle,0,,cyclic-0,1000,1,5000,5401,5000,9000,9000,10000,5401,5401,10000,0,
idle,0,,,,,,,,,,,,,,,250
hard-2,2,hard irq,cyclic-0,120,2,8000,8100,8000,8000,,20000,8000,8200,8000,0.5,
hard-2,2,hard irq,,,,,,,,,,,,,,250
";
        let truth = Truth::gathered(&results);
        assert_eq!(truth.to_csv(), expected);
        assert_eq!(Truth::parse(expected, "expected").unwrap(), truth);
    }
}
