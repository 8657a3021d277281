//! How late may it get, beyond what was seen?
//!
//! [`tail`] looks at what lies above a high threshold (peaks over threshold): excesses over it tend
//! to the generalised Pareto distribution ([`Gpd`]), whatever the whole is distributed like, where
//! its tail has a limit at all. That is fitted with regard to the width of bins, from the lowest
//! threshold that tests of the fit do not give up; and where it does not fit, or says more than the
//! sample can bear, there is a [`Refusal`].
//!
//! It assumes that what was measured goes on: the same machine, the same load. It assumes that the
//! late ones come alone; where they come in clumps, [`Question::extremal_index`] says so. And a cause
//! that has not struck yet is in no tail.

mod average;
mod exceedances;
mod fitness;
mod gpd;
mod posterior;
mod refusal;
mod simplex;
mod threshold;

pub use gpd::Gpd;
pub use refusal::Refusal;
pub use threshold::{Candidate, above};

use crate::Counted;
use average::Average;
use posterior::SHAPE_MIN;
use threshold::EXCEEDANCES_MIN;

/// How many times the sample an estimate reaches at most. The interval gets wider all the way; but
/// from here on what is not known of the machine matters more.
pub const REACH: f64 = 1_000.0;

/// What is known of a sample besides its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// Values closer than this are not told apart: a value stands for all times from it to below
    /// the next.
    pub resolution_ns: u64,
    /// How many more there are of which only that they were above all bins is known.
    pub above_bins: u64,
    /// 1 / the mean number of late ones in a clump, 0–1 (the extremal index: Leadbetter, "Extremes
    /// and Local Dependence in Stationary Sequences", 1983); `None` where nothing is known, which is
    /// taken as 1.
    pub extremal_index: Option<f64>,
    /// Chooses the random numbers of the tests.
    pub seed: u64,
}

impl Default for Question {
    fn default() -> Self {
        Self { resolution_ns: 1, above_bins: 0, extremal_index: None, seed: 1 }
    }
}

/// A tail that may be continued.
#[derive(Clone, Debug)]
pub struct Tail {
    /// How many samples it is from.
    pub count: u64,
    /// From where on it is the tail, and what fits there.
    pub chosen: Candidate,
    /// The lower end of the shape's 95 % interval there.
    pub shape_low: f64,
    /// Its upper end.
    pub shape_high: f64,
    /// All thresholds that were tried, from low to high: where the fit holds, their shapes should
    /// agree.
    pub tried: Vec<Candidate>,
    /// What was told of clumps; 1 for none.
    pub extremal_index: f64,
    resolution_ns: u64,
    average: Average,
}

/// A lateness that is surpassed once in so many, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Once in so many.
    pub one_in: f64,
    /// The estimate.
    pub ns: u64,
    /// The interval's lower end.
    pub low_ns: u64,
    /// Its upper end.
    pub high_ns: u64,
}

/// The most of further samples, with the interval in which it will lie with 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Maximum {
    /// Of so many further ones.
    pub of: u64,
    /// As likely surpassed as not.
    pub median_ns: u64,
    /// The interval's lower end.
    pub low_ns: u64,
    /// Its upper end.
    pub high_ns: u64,
}

/// The tail of a sample.
///
/// # Errors
/// Why none can be told.
pub fn tail(counted: &Counted, question: &Question) -> Result<Tail, Refusal> {
    if question.above_bins > 0 {
        return Err(Refusal::AboveBins { above: question.above_bins });
    }
    let resolution_ns = question.resolution_ns.max(1);
    let extremal_index = question
        .extremal_index
        .filter(|index| index.is_finite())
        .map_or(1.0, |index| index.clamp(f64::MIN_POSITIVE, 1.0));
    let chosen = threshold::choose(counted, resolution_ns, question.seed)?;
    let (lowest, _) = &chosen.holding[0];
    let clumps = (lowest.exceedances as f64 * extremal_index) as u64;
    if clumps < EXCEEDANCES_MIN {
        return Err(Refusal::Clumped { clumps, least: EXCEEDANCES_MIN });
    }
    let shape = lowest.gpd.shape;
    if shape <= SHAPE_MIN {
        return Err(Refusal::AbruptEnd { shape });
    }
    let fits = chosen.holding.iter().filter(|(candidate, _)| {
        candidate.exceedances as f64 * extremal_index >= EXCEEDANCES_MIN as f64
    });
    let fits = fits.map(|(candidate, exceedances)| (candidate.gpd, exceedances));
    let average = Average::new(counted, fits, extremal_index).ok_or(Refusal::Unbounded)?;
    let (shape_low, shape_high) = (average.shape(0.025), average.shape(0.975));
    if shape >= 1.0 || shape_high >= 1.0 {
        return Err(Refusal::InfiniteMean { shape, shape_high });
    }
    Ok(Tail {
        count: counted.count(),
        chosen: *lowest,
        shape_low,
        shape_high,
        tried: chosen.tried,
        extremal_index,
        resolution_ns,
        average,
    })
}

impl Tail {
    /// How rare a lateness can be told at most: once in so many, or the maximum of so many.
    pub fn reach(&self) -> f64 {
        REACH * self.count as f64
    }

    /// The lateness that is surpassed once in `one_in` samples.
    ///
    /// # Errors
    /// Where that is rarer than [`Tail::reach`], or nothing bounds it.
    pub fn level(&self, one_in: f64) -> Result<Level, Refusal> {
        self.check(one_in)?;
        let [low_ns, ns, high_ns] = self.ends(|p| self.average.level(one_in, p))?;
        Ok(Level { one_in, ns, low_ns, high_ns })
    }

    /// The maximum of a further `of` samples: the chance of its being x is the mean over all that the
    /// sample allows, so that what is uncertain in the estimate is part of the interval.
    ///
    /// # Errors
    /// Where that is more than [`Tail::reach`], or nothing bounds it.
    pub fn maximum_of(&self, of: u64) -> Result<Maximum, Refusal> {
        self.check(of as f64)?;
        let [low_ns, median_ns, high_ns] = self.ends(|p| self.average.maximum(of as f64, p))?;
        Ok(Maximum { of, median_ns, low_ns, high_ns })
    }

    fn check(&self, asked: f64) -> Result<(), Refusal> {
        if (1.0..=self.reach()).contains(&asked) {
            return Ok(());
        }
        Err(Refusal::TooFar { asked, most: self.reach() })
    }

    /// The ends and the middle of a 95 % interval, as an instrument of the sample's resolution tells
    /// them.
    fn ends(&self, at: impl Fn(f64) -> Option<f64>) -> Result<[u64; 3], Refusal> {
        let told = |p| at(p).map(|ns| self.told(ns)).ok_or(Refusal::Unbounded);
        Ok([told(0.025)?, told(0.5)?, told(0.975)?])
    }

    /// The value that stands for `ns`: they lie on one grid with the threshold.
    fn told(&self, ns: f64) -> u64 {
        let on_grid = self.chosen.threshold_ns % self.resolution_ns;
        let steps = (ns as u64).saturating_sub(on_grid) / self.resolution_ns;
        on_grid.saturating_add(steps.saturating_mul(self.resolution_ns))
    }
}
