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

mod exceedances;
mod fitness;
mod gpd;
mod level;
mod posterior;
mod refusal;
mod simplex;
mod threshold;

pub use gpd::Gpd;
pub use refusal::Refusal;
pub use threshold::Candidate;

use crate::Counted;
use exceedances::Exceedances;
use posterior::{Posterior, SHAPE_MIN};
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
    /// The 95 % interval of the shape.
    pub shape: (f64, f64),
    /// All thresholds that were tried, from low to high: where the fit holds, their shapes should
    /// agree.
    pub tried: Vec<Candidate>,
    /// What was told of clumps; 1 for none.
    pub extremal_index: f64,
    resolution_ns: u64,
    exceedances: Exceedances,
    posterior: Posterior,
    counted: Counted,
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
    let clumps = (chosen.candidate.exceedances as f64 * extremal_index) as u64;
    if clumps < EXCEEDANCES_MIN {
        return Err(Refusal::Clumped { clumps, least: EXCEEDANCES_MIN });
    }
    let gpd = chosen.candidate.gpd;
    if gpd.shape <= SHAPE_MIN {
        return Err(Refusal::AbruptEnd { shape: gpd.shape });
    }
    let posterior =
        Posterior::new(&chosen.exceedances, gpd, extremal_index).ok_or(Refusal::Unbounded)?;
    let shape = (posterior.shape(0.025), posterior.shape(0.975));
    if gpd.shape >= 1.0 || shape.1 >= 1.0 {
        return Err(Refusal::InfiniteMean { shape: gpd.shape, shape_high: shape.1 });
    }
    Ok(Tail {
        count: counted.count(),
        chosen: chosen.candidate,
        shape,
        tried: chosen.tried,
        extremal_index,
        resolution_ns,
        exceedances: chosen.exceedances,
        posterior,
        counted: counted.clone(),
    })
}

impl Tail {
    /// How rare a lateness can be told at most: once in so many, or the maximum of so many.
    pub fn reach(&self) -> f64 {
        REACH * self.count as f64
    }

    /// The lateness that is surpassed by once in `one_in` samples, by profile likelihood.
    ///
    /// # Errors
    /// Where that is rarer than [`Tail::reach`], or nothing bounds it. Also where it is so frequent
    /// that it lies below the threshold: that is a quantile, see [`Counted::quantile`].
    pub fn level(&self, one_in: f64) -> Result<Level, Refusal> {
        self.check(one_in)?;
        let found = level::surpassed_once_in(
            one_in,
            self.count,
            &self.exceedances,
            self.chosen.gpd,
            self.extremal_index,
        );
        let high = found.high.ok_or(Refusal::Unbounded)?;
        Ok(Level {
            one_in,
            ns: self.told(found.ns),
            low_ns: self.told(found.low),
            high_ns: self.told(high),
        })
    }

    /// The maximum of a further `of` samples. Its chances are the mean over all distributions that
    /// the sample allows, and over how often the threshold may really be surpassed, so that what is
    /// uncertain in the estimate is part of the interval: P(max ≤ x) = E[(1 + M/n·θ·S(x))^−k], the
    /// negative binomial distribution's chance of none, k = θ·m clumps having been seen in n.
    ///
    /// # Errors
    /// Where that is more than [`Tail::reach`], or nothing bounds it.
    pub fn maximum_of(&self, of: u64) -> Result<Maximum, Refusal> {
        self.check(of as f64)?;
        let at = |p| self.maximum_quantile(of as f64, p).ok_or(Refusal::Unbounded);
        Ok(Maximum { of, median_ns: at(0.5)?, low_ns: at(0.025)?, high_ns: at(0.975)? })
    }

    fn check(&self, asked: f64) -> Result<(), Refusal> {
        if asked > self.reach() || asked.is_nan() {
            return Err(Refusal::TooFar { asked, most: self.reach() });
        }
        Ok(())
    }

    /// What the maximum of `of` does not surpass with the chance `p`.
    fn maximum_quantile(&self, of: f64, p: f64) -> Option<u64> {
        let clumps = self.exceedances.count as f64 * self.extremal_index;
        let times = of / self.count as f64;
        let none_above = |excess: f64| {
            self.posterior.mean(|gpd| (-clumps * (times * gpd.survival(excess)).ln_1p()).exp())
        };
        if none_above(0.0) >= p {
            // Below the threshold the sample itself tells it: p^(1/M) of all are below.
            return self.counted.quantile_ns(p.powf(1.0 / (of * self.extremal_index)));
        }
        let mut low = 0.0;
        let mut high = self.exceedances.mean;
        while none_above(high) < p {
            low = high;
            high *= 2.0;
            if high > 1e18 {
                return None;
            }
        }
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if none_above(middle) < p { low = middle } else { high = middle }
        }
        Some(self.told(high))
    }

    /// What an instrument of the sample's resolution tells of such an excess.
    fn told(&self, excess: f64) -> u64 {
        let steps = (excess / self.resolution_ns as f64) as u64;
        self.exceedances.threshold_ns.saturating_add(steps.saturating_mul(self.resolution_ns))
    }
}
