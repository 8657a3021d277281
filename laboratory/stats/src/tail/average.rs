//! What all thresholds that hold say together.
//!
//! Which threshold is the right one is not known either. An interval from one alone held the maximum
//! of the rest of a real measurement in 7 of 20 draws of a hundredth; the mean over all thresholds
//! that tests do not give up, each with the same weight, in 17 of 19 (the twentieth was refused). The
//! idea is that of Northrop, Attalides and Jonathan ("Cross-validatory Extreme Value Threshold
//! Selection and Uncertainty with Application to Ocean Storm Severity", 2017), whose weights are
//! finer.

use super::exceedances::Exceedances;
use super::gpd::Gpd;
use super::posterior::Posterior;
use crate::Counted;
use std::f64::consts::SQRT_2;

/// No lateness is sought above this, ns: 10^9 s.
const FAR_NS: f64 = 1e18;
/// An end is sought to this share of itself.
const EXACT: f64 = 1e-5;

/// A threshold, and what it allows.
#[derive(Clone, Debug)]
struct Part {
    threshold: f64,
    exceedances: f64,
    posterior: Posterior,
}

/// The mean over thresholds. Times are ns.
#[derive(Clone, Debug)]
pub(super) struct Average {
    parts: Vec<Part>,
    n: f64,
    extremal_index: f64,
    /// Values from low to high, …
    values: Vec<u64>,
    /// … and how many are at or above each.
    reaching: Vec<u64>,
}

impl Average {
    /// Of a sample and the fits above the thresholds that hold. `None` where none of them has a
    /// posterior.
    pub(super) fn new<'a>(
        counted: &Counted,
        fits: impl Iterator<Item = (Gpd, &'a Exceedances)>,
        extremal_index: f64,
    ) -> Option<Self> {
        let part = |(best, exceedances): (Gpd, &Exceedances)| {
            Some(Part {
                threshold: exceedances.threshold_ns as f64,
                exceedances: exceedances.count as f64,
                posterior: Posterior::new(exceedances, best, extremal_index)?,
            })
        };
        let parts: Vec<Part> = fits.filter_map(part).collect();
        if parts.is_empty() {
            return None;
        }
        let values = counted.classes().iter().map(|class| class.0).collect();
        let mut left = counted.count();
        let below = |&(_, count): &(u64, u64)| {
            left -= count;
            left + count
        };
        let reaching = counted.classes().iter().map(below).collect();
        Some(Self { parts, n: counted.count() as f64, extremal_index, values, reaching })
    }

    /// The shape that is not surpassed with `probability`, of the lowest threshold.
    pub(super) fn shape(&self, probability: f64) -> f64 {
        self.parts[0].posterior.shape(probability)
    }

    /// What the maximum of `of` further ones does not surpass with the chance `p`. `None` where
    /// nothing bounds it.
    pub(super) fn maximum(&self, of: f64, p: f64) -> Option<f64> {
        // Poisson, of a rate of which k clumps are known: the negative binomial's chance of none.
        let none = |k: f64, share: f64| (-k * (of / self.n * share).ln_1p()).exp();
        self.where_reached(p, none)
    }

    /// What is surpassed once in `one_in` lies at or below this with the probability `p`. `None` where
    /// nothing bounds it.
    pub(super) fn level(&self, one_in: f64, p: f64) -> Option<f64> {
        // Of a rate of which k clumps are known: the gamma distribution's chance of a rate so small
        // that it is surpassed more rarely.
        let rarer =
            |k: f64, share: f64| gamma_cdf(k, self.n / one_in * self.extremal_index / share);
        self.where_reached(p, rarer)
    }

    /// Where the mean of `chance` reaches `p`. It is told how many clumps are known of, and which
    /// share of those goes beyond.
    fn where_reached(&self, p: f64, chance: impl Fn(f64, f64) -> f64) -> Option<f64> {
        let reached = |ns: f64| self.mean(ns, &chance) >= p;
        let mut low = 0.0;
        let mut high = self.values.last().map_or(1.0, |&ns| ns as f64 + 1.0);
        while !reached(high) {
            low = high;
            high *= 2.0;
            if high > FAR_NS {
                return None;
            }
        }
        while high - low > EXACT * high {
            let middle = f64::midpoint(low, high);
            if reached(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    fn mean(&self, ns: f64, chance: &impl Fn(f64, f64) -> f64) -> f64 {
        let sum: f64 = self
            .parts
            .iter()
            .map(|part| {
                if ns < part.threshold {
                    // Below it, the sample itself tells how many go beyond.
                    return chance(self.reaching(ns) * self.extremal_index, 1.0);
                }
                let clumps = part.exceedances * self.extremal_index;
                let excess = ns - part.threshold;
                part.posterior.mean(|gpd| chance(clumps, gpd.survival(excess)))
            })
            .sum();
        sum / self.parts.len() as f64
    }

    fn reaching(&self, ns: f64) -> f64 {
        let first = self.values.partition_point(|&value| (value as f64) < ns);
        self.reaching.get(first).map_or(0.0, |&count| count as f64)
    }
}

/// The chance that a gamma variable of shape `k`, some ten at least, and scale 1 is at most `x`:
/// its cube root is near to normal (Wilson and Hilferty, "The Distribution of Chi-Square", 1931).
fn gamma_cdf(k: f64, x: f64) -> f64 {
    if x.is_nan() {
        return 0.0;
    }
    let spread = 1.0 / (9.0 * k);
    let z = ((x / k).cbrt() - (1.0 - spread)) / spread.sqrt();
    0.5 * libm::erfc(-z / SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::gamma_cdf;

    #[test]
    fn the_gamma_distribution_is_near_enough() {
        // scipy.stats.gamma.cdf(x, k)
        for (k, x, expected) in [
            (50.0, 50.0, 0.518_808),
            (50.0, 37.0, 0.023_899),
            (100.0, 120.0, 0.972_136),
            (1000.0, 940.0, 0.027_046),
        ] {
            assert!((gamma_cdf(k, x) - expected).abs() < 1e-3, "{k} {x}: {}", gamma_cdf(k, x));
        }
        assert!(gamma_cdf(50.0, f64::INFINITY) >= 1.0 && gamma_cdf(50.0, 0.0) < 1e-9);
    }
}
