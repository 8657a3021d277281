//! `tardy.experiment/1`.

use super::measured::{Measured, Shown};
use super::part::verdict;
use super::{ExperimentData, answer};
use crate::compare::ComparisonDocument;
use serde::Serialize;
use std::collections::BTreeMap;
use tardy_experiment::{Condition, Fit, Length, Pair, Place, Table};
use tardy_stats::{Quantile, ab};

/// An experiment's results: `experiment --json`. What is not known is `null`.
#[derive(Debug, Serialize)]
pub struct ExperimentDocument<'a> {
    schema: &'static str,
    name: &'a str,
    title: &'a str,
    source: &'a str,
    question: &'a str,
    table: Table,
    /// In sentences, as on the page.
    answer: Vec<String>,
    fitness: FitnessDocument<'a>,
    conditions: Vec<ConditionDocument<'a>>,
    comparisons: Vec<PairDocument<'a>>,
    /// How many p are corrected together.
    tests: usize,
    alpha: f64,
    /// What the source reports, from another machine, as the experiment's file has it.
    reported: &'a BTreeMap<String, BTreeMap<String, f64>>,
    measure: &'a toml::Table,
    full: bool,
    length: Length,
    blocks_planned: usize,
    blocks_done: usize,
    seed: u64,
    host: &'a str,
    kernel: &'a str,
    hypervisor: Option<&'a str>,
    cpus: u32,
    notes: &'a [String],
    /// Does all of it again.
    command: String,
}

#[derive(Debug, Serialize)]
struct FitnessDocument<'a> {
    verdict: &'static str,
    why: &'a [String],
}

#[derive(Debug, Serialize)]
struct ConditionDocument<'a> {
    name: &'a str,
    load: &'a str,
    /// What the measurement takes here instead.
    measure: &'a toml::Table,
    /// Why it was left out.
    left_out: Option<&'a str>,
    blocks: usize,
    series: Vec<SeriesDocument<'a>>,
    /// Of its blocks, rather than of a series.
    figures: Vec<FigureDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct SeriesDocument<'a> {
    name: &'a str,
    samples: u64,
    blocks: usize,
    min_ns: Option<u64>,
    mean_ns: Option<f64>,
    p50: Option<QuantileDocument>,
    p99: Option<QuantileDocument>,
    p999: Option<QuantileDocument>,
    p9999: Option<QuantileDocument>,
    max_ns: Option<u64>,
    figures: Vec<FigureDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct QuantileDocument {
    ns: u64,
    low_ns: Option<u64>,
    high_ns: Option<u64>,
}

/// A figure over the blocks that tell it.
#[derive(Debug, Serialize)]
struct FigureDocument<'a> {
    name: &'a str,
    mean: f64,
    min: f64,
    max: f64,
    sum: f64,
    blocks: usize,
}

/// What is compared with what, and the comparison as in `tardy.compare/1`.
#[derive(Debug, Serialize)]
struct PairDocument<'a> {
    a_condition: &'a str,
    a_series: &'a str,
    b_condition: &'a str,
    b_series: &'a str,
    #[serde(flatten)]
    comparison: ComparisonDocument<'a>,
}

impl<'a> From<ExperimentData<'a>> for ExperimentDocument<'a> {
    fn from(data: ExperimentData<'a>) -> Self {
        let shown = Shown::new(data);
        let ExperimentData { results, comparisons } = data;
        let experiment = &results.experiment;
        let conditions = experiment.conditions.iter().enumerate();
        Self {
            schema: "tardy.experiment/1",
            name: &experiment.name,
            title: &experiment.title,
            source: &experiment.source,
            question: &experiment.question,
            table: experiment.table,
            answer: answer::sentences(&shown),
            fitness: FitnessDocument {
                verdict: match results.fitness.fit {
                    Fit::Fit => "fit",
                    Fit::Doubtful => "doubtful",
                    Fit::Unfit => "unfit",
                },
                why: &results.fitness.why,
            },
            conditions: conditions
                .map(|(place, condition)| ConditionDocument::new(data, &shown, place, condition))
                .collect(),
            comparisons: comparisons
                .pairs
                .iter()
                .map(|pair| PairDocument::new(data, &shown, pair))
                .collect(),
            tests: comparisons.tests,
            alpha: comparisons.alpha,
            reported: &experiment.reported,
            measure: &experiment.measure,
            full: results.run.is_full,
            length: experiment.length(results.run.is_full),
            blocks_planned: results.planned,
            blocks_done: results.blocks.len(),
            seed: results.run.seed,
            host: &results.run.host,
            kernel: &results.run.kernel,
            hypervisor: results.run.hypervisor.as_deref(),
            cpus: results.run.cpus,
            notes: &results.notes,
            command: shown.results.command(),
        }
    }
}

impl<'a> ConditionDocument<'a> {
    fn new(
        data: ExperimentData<'a>,
        shown: &Shown<'_>,
        place: usize,
        condition: &'a Condition,
    ) -> Self {
        let results = data.results;
        let left_out = results.run.left_out.iter().find(|(name, _)| *name == condition.name);
        let of = shown.measured.iter().filter(|one| one.place.condition == place);
        Self {
            name: &condition.name,
            load: &condition.load,
            measure: &condition.measure,
            left_out: left_out.map(|(_, why)| why.as_str()),
            blocks: results.blocks_of(place).count(),
            series: of.map(|one| SeriesDocument::new(data, one)).collect(),
            figures: figures(data, &Place { condition: place, series: String::new() }),
        }
    }
}

impl<'a> SeriesDocument<'a> {
    fn new(data: ExperimentData<'a>, one: &Measured) -> Self {
        let whole = &one.whole;
        let quantile = |q| ab::quantile(&one.sample, q).map(QuantileDocument::from);
        Self {
            name: name_of(data, &one.place),
            samples: whole.count(),
            blocks: one.sample.blocks.len(),
            min_ns: whole.min_ns(),
            mean_ns: (!whole.is_empty()).then(|| whole.mean_ns()),
            p50: quantile(0.5),
            p99: quantile(0.99),
            p999: quantile(0.999),
            p9999: quantile(0.9999),
            max_ns: whole.max_ns(),
            figures: figures(data, &one.place),
        }
    }
}

/// The series' name as the results have it.
fn name_of<'a>(data: ExperimentData<'a>, place: &Place) -> &'a str {
    let mut series = data.results.blocks_of(place.condition).flat_map(|block| &block.series);
    series.find(|one| one.name == place.series).map_or("", |one| &one.name)
}

fn figures<'a>(data: ExperimentData<'a>, place: &Place) -> Vec<FigureDocument<'a>> {
    let of = |name| {
        let over = data.results.figure(place, name)?;
        let (mean, min, max, sum) = (over.mean, over.min, over.max, over.sum);
        Some(FigureDocument { name, mean, min, max, sum, blocks: over.blocks })
    };
    data.results.figure_names(place).into_iter().filter_map(of).collect()
}

impl From<Quantile> for QuantileDocument {
    fn from(Quantile { ns, low_ns, high_ns }: Quantile) -> Self {
        Self { ns, low_ns, high_ns }
    }
}

impl<'a> PairDocument<'a> {
    fn new(data: ExperimentData<'a>, shown: &Shown<'_>, pair: &'a Pair) -> Self {
        let results = data.results;
        let comparison = ComparisonDocument::new(
            results.label(&pair.a),
            results.label(&pair.b),
            verdict(shown, pair),
            &pair.comparison,
            |_| true,
        );
        Self {
            a_condition: results.condition_name(pair.a.condition),
            a_series: &pair.a.series,
            b_condition: results.condition_name(pair.b.condition),
            b_series: &pair.b.series,
            comparison,
        }
    }
}
