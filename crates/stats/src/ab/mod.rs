//! Do two samples differ, by how much, and how sure is that?

use crate::{Interval, MannWhitney, Quantile};

/// What is asked of two samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The quantiles compared, 0–1, ascending.
    pub quantiles: Vec<f64>,
    /// The chance of even one false alarm among all of a comparison's tests that is accepted.
    pub alpha: f64,
    /// How often blocks are drawn anew, and exchanged.
    pub resamples: usize,
    /// Chooses the random numbers.
    pub seed: u64,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            quantiles: vec![0.5, 0.9, 0.99, 0.999, 0.9999],
            alpha: 0.05,
            resamples: 2000,
            seed: 1,
        }
    }
}

/// What two samples have to say about each other. All differences are B − A: positive where B is
/// later.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The first side.
    pub a: Side,
    /// The second side.
    pub b: Side,
    /// What was taken for independent.
    pub basis: Basis,
    /// The means.
    pub mean: Difference,
    /// The quantiles that were asked for and that both samples are large enough to bound, ascending.
    pub quantiles: Vec<QuantileDifference>,
    /// Does one tend to be larger: the classical test, whose p takes all values for independent.
    pub ranks: MannWhitney,
    /// The p of the same statistic on this comparison's [`Basis`].
    pub ranks_p: f64,
    /// That, corrected for all tests of this comparison.
    pub ranks_p_adjusted: f64,
    /// The difference along all quantiles, ascending, with a pointwise 95 % band.
    pub band: Vec<BandPoint>,
    /// What may be said.
    pub verdict: Verdict,
    /// The question's [`Question::alpha`].
    pub alpha: f64,
}

/// One side, in figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Its name.
    pub name: String,
    /// How many latencies.
    pub count: u64,
    /// In how many blocks.
    pub blocks: usize,
    /// Values closer than this are not told apart.
    pub resolution_ns: u64,
    /// The least.
    pub min_ns: u64,
    /// The mean.
    pub mean_ns: f64,
    /// The most. Of `count`, and never to be told without it.
    pub max_ns: u64,
}

/// What a comparison takes for independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Blocks: what neighbours in time share does no harm.
    Blocks,
    /// Single values, because one side does not tell their order, or has too few blocks. What
    /// neighbours share makes intervals too narrow and p too small.
    Values,
}

/// A figure of both sides and their difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Of A, ns.
    pub a: f64,
    /// Of B, ns.
    pub b: f64,
    /// B − A with its 95 % interval, ns.
    pub b_minus_a: Interval,
    /// Two-sided probability of a difference at least as far from 0, were the two alike.
    pub p: f64,
    /// That, corrected for all tests of this comparison (Holm).
    pub p_adjusted: f64,
}

/// A quantile of both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileDifference {
    /// Which, 0–1.
    pub q: f64,
    /// Of A, with its own 95 % interval.
    pub a: Quantile,
    /// Of B, with its own 95 % interval.
    pub b: Quantile,
    /// The difference.
    pub difference: Difference,
}

/// The difference at one quantile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandPoint {
    /// Which, 0–1.
    pub q: f64,
    /// B − A with its 95 % interval, ns.
    pub b_minus_a: Interval,
}

/// What may be said of two samples.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// No difference could be shown: that they are equal is not shown either. A difference of the
    /// medians beyond this would have been found in four of five such comparisons.
    NoDifferenceShown {
        /// That difference, ns.
        detectable_ns: f64,
    },
    /// They differ, in these figures.
    Differ {
        /// Whether the means do.
        mean: bool,
        /// The quantiles that do, 0–1.
        quantiles: Vec<f64>,
        /// Whether one tends to be larger.
        ranks: bool,
    },
    /// One side has too little to say anything.
    TooFew {
        /// Why, in a sentence, with what would help.
        why: String,
    },
}
