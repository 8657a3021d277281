//! Why nothing is said of a tail.

use std::fmt;

/// Why there is no estimate. Each says in a sentence what would be needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refusal {
    /// Too few lie far out.
    TooFew {
        /// How many, at the lowest threshold.
        exceedances: u64,
        /// How many it takes.
        least: u64,
    },
    /// The values far out are too few different ones: bins too wide, or a clock too coarse.
    TooCoarse {
        /// Different values above the lowest threshold.
        values: usize,
        /// How many it takes.
        least: usize,
    },
    /// Some lie above the bins, so that the tail is not in the sample.
    AboveBins {
        /// How many.
        above: u64,
    },
    /// Above no threshold is the tail one that could be continued.
    BadFit {
        /// How likely the departure of the highest threshold is by chance.
        p: f64,
    },
    /// The late ones come in clumps, and there are too few of those.
    Clumped {
        /// Clumps above the threshold.
        clumps: u64,
        /// How many it takes.
        least: u64,
    },
    /// The tail may be so heavy that its mean is infinite.
    InfiniteMean {
        /// The shape, …
        shape: f64,
        /// … which may be up to this.
        shape_high: f64,
    },
    /// The values end abruptly; where, is not told by a tail's shape.
    AbruptEnd {
        /// The shape.
        shape: f64,
    },
    /// It was asked for more than a sample of this size can tell.
    TooFar {
        /// What was asked: once in so many, or the maximum of so many.
        asked: f64,
        /// What can be told at most.
        most: f64,
    },
    /// The estimate has no upper end.
    Unbounded,
}

impl Refusal {
    /// A word for it that stays.
    pub fn name(&self) -> &'static str {
        match self {
            Self::TooFew { .. } => "too_few",
            Self::TooCoarse { .. } => "too_coarse",
            Self::AboveBins { .. } => "above_bins",
            Self::BadFit { .. } => "bad_fit",
            Self::Clumped { .. } => "clumped",
            Self::InfiniteMean { .. } => "infinite_mean",
            Self::AbruptEnd { .. } => "abrupt_end",
            Self::TooFar { .. } => "too_far",
            Self::Unbounded => "unbounded",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooFew { exceedances, least } => write!(
                f,
                "only {exceedances} samples are far enough out, but it takes {least}; measure \
                    longer"
            ),
            Self::TooCoarse { values, least } => write!(
                f,
                "the far samples have only {values} different values, but it takes {least}; use \
                 narrower bins"
            ),
            Self::AboveBins { above } => {
                write!(f, "{above} of the samples lie above the bins; measure again with more bins")
            }
            Self::BadFit { p } => write!(
                f,
                "the tail fits no shape that can be extrapolated (Anderson-Darling, p = {p:.3}, \
                 at the highest threshold that leaves enough samples): the latest samples may have \
                 another cause than the rest"
            ),
            Self::Clumped { clumps, least } => write!(
                f,
                "the late samples come in {clumps} clusters, but it takes {least}; measure longer"
            ),
            Self::InfiniteMean { shape, shape_high } => write!(
                f,
                "the tail is so heavy that its mean may be infinite (shape {shape:.2}, up to \
                 {shape_high:.2}): any lateness is possible"
            ),
            Self::AbruptEnd { shape } => write!(
                f,
                "the samples end abruptly (shape {shape:.2}): that is a bound, not a tail to \
                 extrapolate, and it is not known why it would hold"
            ),
            Self::TooFar { asked, most } => write!(
                f,
                "{asked:.0e} is too far beyond the samples: at most {most:.0e} can be extrapolated"
            ),
            Self::Unbounded => write!(f, "the sample does not bound it above; measure longer"),
        }
    }
}

impl std::error::Error for Refusal {}
