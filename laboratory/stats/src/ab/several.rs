//! Do several samples differ?

use super::compare::{Unadjusted, finish, sane_quantiles};
use super::{Comparison, Question};
use crate::Sample;

/// Which of several samples are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// Every other one with the first.
    First,
    /// Every one with every other.
    Each,
}

/// Two of several samples, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Versus {
    /// The place of A among the samples.
    pub a: usize,
    /// The place of B.
    pub b: usize,
    /// The comparison. Its adjusted p, and so its verdict, are corrected for all tests of all
    /// comparisons, not for its own alone.
    pub comparison: Comparison,
}

/// Compares several samples, A always the earlier one: the chance of even one false alarm among all
/// their tests is at most the question's alpha (Holm). None where there are fewer than two.
pub fn several(samples: &[Sample], against: Against, question: &Question) -> Vec<Versus> {
    let pairs: Vec<(usize, usize)> = (0..samples.len())
        .flat_map(|a| (a + 1..samples.len()).map(move |b| (a, b)))
        .filter(|&(a, _)| against == Against::Each || a == 0)
        .collect();
    let of: Vec<(&Sample, &Sample)> =
        pairs.iter().map(|&(a, b)| (&samples[a], &samples[b])).collect();
    pairs
        .into_iter()
        .zip(compare_pairs(&of, question))
        .map(|((a, b), comparison)| Versus { a, b, comparison })
        .collect()
}

/// Compares pairs of A and B, in the order given, as [`several`] does: corrected for all tests of all
/// of them.
pub fn compare_pairs(pairs: &[(&Sample, &Sample)], question: &Question) -> Vec<Comparison> {
    let tests = pairs.len() * (sane_quantiles(question).len() + 2);
    let unadjusted = pairs.iter().map(|(a, b)| Unadjusted::new(a, b, question, tests));
    finish(unadjusted.collect(), question.alpha)
}
