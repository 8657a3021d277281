//! Do two samples differ, by how much, and how sure is that? And how many does it take to see it?
//!
//! Start reading at `compare.rs`. What a test counts is in `score.rs`, where its p comes from in
//! `permutation.rs`, where the intervals come from in `resample.rs` (blocks) and `quantiles.rs`
//! (single values).

mod band;
mod compare;
mod grouped;
mod normal;
mod permutation;
mod power;
mod prepared;
mod quantiles;
mod resample;
mod score;
mod several;

pub use compare::compare;
pub use power::{Effect, Needed, needed};
pub use quantiles::quantile;
pub use several::{Against, Versus, compare_pairs, several};

use crate::{Interval, MannWhitney, Quantile, Sample};

/// The fewest blocks on each side that are exchanged and drawn anew: 8 of 16 can be chosen in 12,870
/// ways, enough for a p that stays small when it is corrected for ten tests.
pub const BLOCKS_MIN: usize = 8;

/// The fewest pairs of blocks: with 12 signs there are 4096 ways to choose them; with 8, 256, and no
/// p would stay below 0.05 once it is corrected for seven tests.
pub const PAIRS_MIN: usize = 12;

/// The most blocks of a side that are told apart; neighbours of more are put together. More would
/// make no interval narrower by 1 %: Student's distribution of 255 degrees of freedom is nearly the
/// normal one.
pub const BLOCKS_MAX: usize = 256;

/// The fewest values on each side of which anything is said: from about 20 on, the ranks' normal
/// approximation is good (see [`crate::mann_whitney`]).
pub const VALUES_MIN: u64 = 20;

/// What is asked of two samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The quantiles compared, 0–1, ascending.
    pub quantiles: Vec<f64>,
    /// The chance of even one false alarm among all of a comparison's tests that is accepted.
    pub alpha: f64,
    /// How often blocks are drawn anew (at most 20,000 times), and exchanged (more often where the
    /// correction for many tests asks for a smaller p; at most 200,000 times).
    pub resamples: usize,
    /// Chooses the random numbers.
    pub seed: u64,
    /// Whether block i of A and block i of B ran side by side, in one round: then what a round did to
    /// both is not counted against their difference, and only the two of a round are exchanged. Where
    /// the samples do not allow it (see [`Question::pairs`]) they are compared unpaired.
    pub paired: bool,
}

impl Question {
    /// Whether these two are compared in pairs: it is asked for, both have as many blocks, and these
    /// are at least [`PAIRS_MIN`].
    pub fn pairs(&self, a: &Sample, b: &Sample) -> bool {
        self.paired && prepared::are_pairs(a.blocks.len(), b.blocks.len())
    }
}

impl Default for Question {
    fn default() -> Self {
        Self {
            quantiles: vec![0.5, 0.9, 0.99, 0.999, 0.9999],
            alpha: 0.05,
            resamples: 2000,
            seed: 1,
            paired: false,
        }
    }
}

/// One of a comparison's tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Test {
    /// Of the means.
    Mean,
    /// Of a quantile, 0–1.
    Quantile(f64),
    /// Of the ranks: whether one tends to be larger.
    Ranks,
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
    /// Does one tend to be larger: the classical test, whose p takes all values for independent. A is
    /// its first sample: its `a` is the probability that one of A is larger than one of B.
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
    /// Of A, ns. A quantile is interpolated within the resolution, so that a difference smaller than
    /// a bin shows.
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
