//! Which of an experiment's samples are compared with each other.

use crate::{Place, Results, Table};
use tardy_stats::Sample;
use tardy_stats::ab::{self, Comparison, Question};

/// All that is compared of an experiment. Every p is corrected for all tests of all pairs together, so
/// that the chance of even one false alarm among them is at most `alpha`.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparisons {
    /// Each condition with the first, series by series; then, where series are methods, each method of
    /// a condition with its first one.
    pub pairs: Vec<Pair>,
    /// How many tests there are in all.
    pub tests: usize,
    /// The question's.
    pub alpha: f64,
}

/// Two samples of an experiment, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// What the other is compared with.
    pub a: Place,
    /// The other.
    pub b: Place,
    /// What may be said of them.
    pub comparison: Comparison,
}

/// Compares the conditions of an experiment. Blocks of one round ran side by side; where every round
/// is whole, they are compared in pairs, whatever the question's `paired` says.
pub fn compare(results: &Results, question: &Question) -> Comparisons {
    let places = results.places();
    let chosen = chosen(&places, results.experiment.table);
    let samples: Vec<Sample> = places.iter().map(|place| results.sample(place)).collect();
    let rounds: Vec<Vec<u32>> = places.iter().map(|place| rounds(results, place)).collect();
    let paired = chosen.iter().all(|&(a, b)| rounds[a] == rounds[b]);
    let of: Vec<(&Sample, &Sample)> =
        chosen.iter().map(|&(a, b)| (&samples[a], &samples[b])).collect();
    let comparisons = ab::compare_pairs(&of, &Question { paired, ..question.clone() });
    // The mean, the ranks, and the quantiles that both are large enough for.
    let tests = comparisons.iter().map(|comparison| comparison.quantiles.len() + 2).sum();
    let pair = |((a, b), comparison): ((usize, usize), Comparison)| Pair {
        a: places[a].clone(),
        b: places[b].clone(),
        comparison,
    };
    let pairs = chosen.into_iter().zip(comparisons).map(pair).collect();
    Comparisons { pairs, tests, alpha: question.alpha }
}

/// Pairs of places, A first.
fn chosen(places: &[Place], table: Table) -> Vec<(usize, usize)> {
    let Some(first) = places.first().map(|place| place.condition) else { return Vec::new() };
    let mut chosen = Vec::new();
    for (b, place) in places.iter().enumerate().filter(|(_, place)| place.condition != first) {
        let is_a = |other: &Place| other.condition == first && other.series == place.series;
        chosen.extend(places.iter().position(is_a).map(|a| (a, b)));
    }
    if has_methods(table) {
        for (b, place) in places.iter().enumerate() {
            let of_condition = |other: &Place| other.condition == place.condition;
            let a = places.iter().position(of_condition).filter(|&a| a != b);
            chosen.extend(a.map(|a| (a, b)));
        }
    }
    chosen
}

/// Whether an experiment's series are ways to do the same, rather than threads that do different
/// things.
const fn has_methods(table: Table) -> bool {
    match table {
        Table::Shares | Table::Programmings => true,
        Table::MinAvgMax | Table::Spikes | Table::Deviations | Table::Curve => false,
    }
}

/// The rounds of a place's blocks, as [`Results::sample`] takes them.
fn rounds(results: &Results, place: &Place) -> Vec<u32> {
    let has_any = |block: &&crate::Block| {
        let mut of = block.series.iter().filter(|series| series.name == place.series);
        of.any(|series| !series.latencies.is_empty())
    };
    results.blocks_of(place.condition).filter(has_any).map(|block| block.round).collect()
}
