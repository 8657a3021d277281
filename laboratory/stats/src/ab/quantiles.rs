//! Quantiles of one side, and the difference of two, with intervals.

use super::Basis;
use super::grouped::Grouped;
use super::normal::t_quantile;
use super::prepared::{Prepared, basis};
use crate::{Interval, Quantile, Sample};

/// A quantile of one side with its 95 % interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    pub(super) value: f64,
    pub(super) low: f64,
    /// Infinite where the side is too small to bound it.
    pub(super) high: f64,
}

impl Own {
    /// The interval after Woodruff, "Confidence Intervals for Medians and Other Position Measures",
    /// 1952: the error of the share above the quantile found, turned into values. On
    /// [`Basis::Blocks`] that error is the blocks', never less than that of independent values,
    /// because few blocks may be alike by chance; on [`Basis::Values`] it is the binomial one.
    pub(super) fn new(whole: &Grouped, blocks: &[Grouped], q: f64, basis: Basis) -> Self {
        let n = whole.count() as f64;
        let value = whole.quantile(q);
        let single = (q * (1.0 - q) / n).sqrt();
        let (error, freedom) = match basis {
            Basis::Values => (single, f64::INFINITY),
            Basis::Blocks => {
                let k = blocks.len() as f64;
                let away = |block: &Grouped| block.above(value) - (1.0 - q) * block.count() as f64;
                let squares: f64 = blocks.iter().map(|block| away(block).powi(2)).sum();
                ((k / (k - 1.0) * squares).sqrt().max(single * n) / n, k - 1.0)
            }
        };
        let half = t_quantile(0.975, freedom) * error;
        let low = whole.quantile(q - half);
        // As many values above as make up the one that the quantile falls between.
        let above = q + half + 1.0 / n;
        let high = if above < 1.0 { whole.quantile(above) } else { f64::INFINITY };
        Self { value, low, high }
    }

    /// In whole nanoseconds, `ns` by the nearest rank.
    pub(super) fn rounded(self, side: &Prepared, q: f64) -> Quantile {
        let ns = side.whole.quantile_ns(q).unwrap_or(0);
        Quantile {
            ns,
            low_ns: Some((self.low.round().max(0.0) as u64).min(ns)),
            high_ns: self.high.is_finite().then(|| (self.high.round() as u64).max(ns)),
        }
    }
}

/// A quantile, 0–1, of a sample with its 95 % interval, by the same method and on the same basis as
/// those of a comparison. `None` where it has no value.
pub fn quantile(sample: &Sample, q: f64) -> Option<Quantile> {
    let width = sample.resolution_ns.max(1);
    let side = Prepared::new(sample, width);
    if side.whole.is_empty() {
        return None;
    }
    let basis = basis(&side, &side);
    let blocks: Vec<Grouped> = side.blocks.iter().map(|block| Grouped::new(block, width)).collect();
    Some(Own::new(&Grouped::new(&side.whole, width), &blocks, q, basis).rounded(&side, q))
}

/// `b` − `a` of independent samples from their own intervals: the distances to their ends, as errors
/// on that side, add up in squares (Zou and Donner, "Construction of confidence limits about effect
/// measures: a general approach", 2008).
pub(super) fn difference(a: Own, b: Own) -> Interval {
    let value = b.value - a.value;
    Interval {
        value,
        low: value - (b.value - b.low).hypot(a.high - a.value),
        high: value + (b.high - b.value).hypot(a.value - a.low),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(series: &[u64], q: f64, basis: Basis) -> Own {
        let side = Prepared::new(&Sample::of_series("a", series, 10), 1);
        let blocks: Vec<Grouped> = side.blocks.iter().map(|block| Grouped::new(block, 1)).collect();
        Own::new(&Grouped::new(&side.whole, 1), &blocks, q, basis)
    }

    #[test]
    fn blocks_that_differ_widen_the_interval() {
        // Ten blocks of a hundred values, each around its own level.
        let series: Vec<u64> = (0..1000).map(|at| 10_000 + at / 100 * 50 + at * 7 % 100).collect();
        let (values, blocks) = (own(&series, 0.5, Basis::Values), own(&series, 0.5, Basis::Blocks));
        assert!((values.value - blocks.value).abs() < 1e-9);
        assert!(
            blocks.high - blocks.low > 3.0 * (values.high - values.low),
            "{values:?} {blocks:?}"
        );
        // Blocks that are all alike are no better than independent values.
        let series: Vec<u64> = (0..1000).map(|at| 10_000 + at * 7 % 100).collect();
        let (values, blocks) = (own(&series, 0.5, Basis::Values), own(&series, 0.5, Basis::Blocks));
        assert!(blocks.high >= values.high && blocks.low <= values.low);
    }

    #[test]
    fn few_values_do_not_bound_a_high_quantile() {
        let series: Vec<u64> = (0..1000).collect();
        assert!(own(&series, 0.9, Basis::Values).high < 1000.0);
        let unbound = own(&series, 0.999, Basis::Values);
        assert!(unbound.high.is_infinite() && difference(unbound, unbound).low.is_infinite());
    }
}
