//! Which distributions the exceedances allow, and how much each.

use super::exceedances::Exceedances;
use super::gpd::Gpd;

/// Points of the grid in each direction, …
const POINTS: i32 = 19;
/// … which reaches so many standard errors to each side: steps of half of one.
const REACH: f64 = 4.5;
/// Points less likely than this are left out: they cost time and move no end of an interval.
const NEGLIGIBLE: f64 = 1e-6;
/// Shapes at or below this have no regular likelihood, and no prior.
pub(super) const SHAPE_MIN: f64 = -0.5;

/// Distributions with their probabilities.
#[derive(Clone, Debug)]
pub(super) struct Posterior {
    points: Vec<(Gpd, f64)>,
}

impl Posterior {
    /// Given the exceedances and their best fit, the Jeffreys prior of the two parameters,
    /// 1/(σ(1 + ξ)√(1 + 2ξ)) for ξ > −½ (Castellanos and Cabras, "A Default Bayesian Procedure for the
    /// Generalized Pareto Distribution", 2007): its intervals hold the truth about as often as they
    /// say. `weight` is how many independent ones an exceedance is worth. `None` where the likelihood
    /// has no peak.
    pub(super) fn new(exceedances: &Exceedances, best: Gpd, weight: f64) -> Option<Self> {
        let value = |x: f64, y: f64| {
            let gpd = Gpd { scale_ns: best.scale_ns * x.exp(), shape: best.shape + y };
            (gpd, weight * exceedances.ln_likelihood(gpd))
        };
        // Standard errors of a regular fit set the step of the second differences.
        let n = (exceedances.count as f64 * weight).max(1.0);
        let h = 0.1 * (1.0 + best.shape).max(0.3) / n.sqrt();
        let at = |x: f64, y: f64| value(x * h, y * h).1;
        let peak = at(0.0, 0.0);
        let xx = (2.0 * peak - at(1.0, 0.0) - at(-1.0, 0.0)) / (h * h);
        let yy = (2.0 * peak - at(0.0, 1.0) - at(0.0, -1.0)) / (h * h);
        let xy = (at(1.0, -1.0) + at(-1.0, 1.0) - at(1.0, 1.0) - at(-1.0, -1.0)) / (4.0 * h * h);
        let determinant = xx * yy - xy * xy;
        if !(determinant > 0.0 && xx > 0.0 && determinant.is_finite()) {
            return None;
        }
        // The Cholesky factor of the covariance.
        let sd_shape = (xx / determinant).sqrt();
        let across = -xy / determinant / sd_shape;
        let sd_rest = 1.0 / xx.sqrt();
        let mut points = Vec::with_capacity((POINTS * POINTS) as usize);
        let step = 2.0 * REACH / f64::from(POINTS - 1);
        for i in 0..POINTS {
            for j in 0..POINTS {
                let (u, v) = (f64::from(i) * step - REACH, f64::from(j) * step - REACH);
                let (gpd, likelihood) = value(across * u + sd_rest * v, sd_shape * u);
                if gpd.shape <= SHAPE_MIN || likelihood <= f64::NEG_INFINITY {
                    continue;
                }
                // By ln σ, of which the grid is: the prior's 1/σ goes into it.
                let prior = 1.0 / ((1.0 + gpd.shape) * (1.0 + 2.0 * gpd.shape).sqrt());
                points.push((gpd, (likelihood - peak).exp() * prior));
            }
        }
        let sum: f64 = points.iter().map(|point| point.1).sum();
        if !(sum > 0.0 && sum.is_finite()) {
            return None;
        }
        for point in &mut points {
            point.1 /= sum;
        }
        points.retain(|point| point.1 > NEGLIGIBLE);
        Some(Self { points })
    }

    /// The mean of `of` over all.
    pub(super) fn mean(&self, of: impl Fn(Gpd) -> f64) -> f64 {
        self.points.iter().map(|&(gpd, weight)| weight * of(gpd)).sum()
    }

    /// The shape that is not surpassed with `probability`.
    pub(super) fn shape(&self, probability: f64) -> f64 {
        // Points of one row of the grid have one shape and follow each other. Up to it goes half of
        // what the row has; between rows, a straight line.
        let mut below = 0.0;
        let mut last: Option<(f64, f64)> = None;
        for row in self.points.chunk_by(|one, two| (one.0.shape - two.0.shape).abs() < 1e-12) {
            let shape = row[0].0.shape;
            let own: f64 = row.iter().map(|point| point.1).sum();
            let up_to = below + own / 2.0;
            if up_to >= probability {
                let Some((from, at)) = last else { return shape };
                return from + (shape - from) * (probability - at) / (up_to - at);
            }
            last = Some((shape, up_to));
            below += own;
        }
        last.map_or(f64::NAN, |(shape, _)| shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counted;

    #[test]
    fn the_shape_is_as_uncertain_as_theory_says() {
        // Quantiles of an exponential distribution, so that the fit is true.
        let n = 2_000;
        let values =
            (0..n).map(|i| (-9_000.0 * (1.0 - (f64::from(i) + 0.5) / f64::from(n)).ln()) as u64);
        let exceedances = Exceedances::above(&Counted::of_values(values), 0, 1);
        let (best, _) = exceedances.fit();
        let posterior = Posterior::new(&exceedances, best, 1.0).unwrap();
        let (low, high) = (posterior.shape(0.025), posterior.shape(0.975));
        // (1 + ξ)/√m on each side, 1.96 of them.
        let half = 1.96 / f64::from(n).sqrt();
        assert!(((high - low) / (2.0 * half) - 1.0).abs() < 0.1, "{low} {high}");
        // Half as much worth: wider by √2.
        let wide = Posterior::new(&exceedances, best, 0.5).unwrap();
        let ratio = (wide.shape(0.975) - wide.shape(0.025)) / (high - low);
        assert!((ratio - 2f64.sqrt()).abs() < 0.15, "{ratio}");
    }
}
