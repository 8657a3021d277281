//! How long something takes: a distribution of nanoseconds.

use crate::quantiles::{self, LogNormal};
use crate::random::Stream;
use std::sync::Arc;

/// The longest that anything takes, ns: about 18 minutes. What is drawn above it is it.
pub const COST_NS_MAX: u64 = 1 << 40;

/// The parts of a mixture and the bins of a histogram, at most.
pub const PARTS_MAX: usize = 1 << 16;

/// A distribution of nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Cost {
    /// Always the same.
    Constant(u64),
    /// Each in `from_ns..=to_ns` alike.
    Uniform {
        /// The least.
        from_ns: u64,
        /// The most.
        to_ns: u64,
    },
    /// The gaps of a Poisson process.
    Exponential {
        /// Its mean.
        mean_ns: f64,
    },
    /// The logarithm is normal.
    LogNormal {
        /// Half are below.
        median_ns: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// One of several, each with its share.
    Mixture(Box<[Part<Cost>]>),
    /// A measured histogram; within a bin each value is alike.
    Histogram(Box<[Part<(u64, u64)>]>),
    /// A log-normal one that is ready to be drawn from.
    #[doc(hidden)]
    Tabled(Tabled),
}

/// A median, and the table for a spread.
#[derive(Clone, Debug, PartialEq)]
pub struct Tabled {
    median_ns: f64,
    table: Arc<LogNormal>,
}

/// Tables by the spread.
#[derive(Debug, Default)]
pub(crate) struct Tables(Vec<(f64, Arc<LogNormal>)>);

impl Tables {
    fn of(&mut self, sigma: f64) -> Arc<LogNormal> {
        if let Some((_, table)) = self.0.iter().find(|(of, _)| of.to_bits() == sigma.to_bits()) {
            return Arc::clone(table);
        }
        let table = Arc::new(LogNormal::new(sigma));
        self.0.push((sigma, Arc::clone(&table)));
        table
    }
}

/// A part of a mixture, or a bin of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Part<T> {
    /// The share of this part and all before it, of 2^64; the last one's is not looked at.
    up_to: u64,
    what: T,
}

/// Why there is no such distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CostError {
    /// Shares are to be positive and to sum to 1.
    #[error("the shares must be positive and sum to 1")]
    Shares,
    /// No part at all, or too many.
    #[error("between 1 and {PARTS_MAX} parts are needed")]
    Parts,
    /// A number that cannot be.
    #[error("a time is from 0 to {COST_NS_MAX} ns, and a spread at least 0")]
    Range,
}

impl Cost {
    /// Nothing.
    pub const ZERO: Self = Self::Constant(0);

    /// One of several, each with its share.
    ///
    /// # Errors
    /// Where shares are not positive or do not sum to 1 (within a millionth).
    pub fn mixture(parts: Vec<(f64, Self)>) -> Result<Self, CostError> {
        Ok(Self::Mixture(cumulated(parts)?))
    }

    /// By counts of `(from_ns, to_ns)`, both ends included.
    ///
    /// # Errors
    /// Where nothing was counted, or a bin ends before it begins.
    pub fn histogram(bins: Vec<(u64, u64, u64)>) -> Result<Self, CostError> {
        let all: f64 = bins.iter().map(|(_, _, count)| *count as f64).sum();
        if bins.iter().any(|(from_ns, to_ns, _)| from_ns > to_ns || *to_ns > COST_NS_MAX) {
            return Err(CostError::Range);
        }
        let counted = bins.into_iter().filter(|(_, _, count)| *count > 0);
        let shares = counted.map(|(from_ns, to_ns, count)| (count as f64 / all, (from_ns, to_ns)));
        Ok(Self::Histogram(cumulated(shares.collect())?))
    }

    /// Whether every draw can be made.
    ///
    /// # Errors
    /// Says which part cannot be.
    pub fn check(&self) -> Result<(), CostError> {
        let max = COST_NS_MAX as f64;
        let fits = match self {
            Self::Constant(ns) => *ns <= COST_NS_MAX,
            Self::Uniform { from_ns, to_ns } => from_ns <= to_ns && *to_ns <= COST_NS_MAX,
            Self::Exponential { mean_ns } => (0.0..=max).contains(mean_ns),
            Self::LogNormal { median_ns, sigma } => {
                (0.0..=max).contains(median_ns) && (0.0..=16.0).contains(sigma)
            }
            Self::Mixture(parts) => return parts.iter().try_for_each(|part| part.what.check()),
            Self::Histogram(_) | Self::Tabled(_) => true,
        };
        if fits { Ok(()) } else { Err(CostError::Range) }
    }

    /// Makes it ready to be drawn from.
    pub(crate) fn prepare(&mut self, tables: &mut Tables) {
        match self {
            Self::LogNormal { median_ns, sigma } => {
                *self = Self::Tabled(Tabled { median_ns: *median_ns, table: tables.of(*sigma) });
            }
            Self::Mixture(parts) => parts.iter_mut().for_each(|part| part.what.prepare(tables)),
            _ => {}
        }
    }

    /// The next one, ns.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        match self {
            Self::Constant(ns) => *ns,
            Self::Uniform { from_ns, to_ns } => from_ns + stream.below(to_ns - from_ns + 1),
            Self::Tabled(Tabled { median_ns, table }) => {
                whole(median_ns * table.value(stream.next()))
            }
            Self::Exponential { mean_ns } => whole(mean_ns * quantiles::exponential(stream.next())),
            other => other.draw_slowly(stream),
        }
    }

    #[inline(never)]
    fn draw_slowly(&self, stream: &mut Stream) -> u64 {
        match self {
            Self::LogNormal { median_ns, sigma } => {
                whole(median_ns * quantiles::log_normal(*sigma, stream.next()))
            }
            Self::Mixture(parts) => chosen(parts, stream).draw(stream),
            Self::Histogram(bins) => {
                let (from_ns, to_ns) = *chosen(bins, stream);
                from_ns + stream.below(to_ns - from_ns + 1)
            }
            other => other.draw(stream),
        }
    }
}

/// A time that is not negative, to the nanosecond.
#[inline]
fn whole(ns: f64) -> u64 {
    /// Numbers to which this is added have their whole part in their lowest bits.
    const WHOLE: f64 = 4_503_599_627_370_496.0;
    (ns.min(COST_NS_MAX as f64) + WHOLE).to_bits() - WHOLE.to_bits()
}

fn chosen<'a, T>(parts: &'a [Part<T>], stream: &mut Stream) -> &'a T {
    let drawn = stream.next();
    let at = parts.partition_point(|part| part.up_to <= drawn);
    &parts[at.min(parts.len() - 1)].what
}

fn cumulated<T>(parts: Vec<(f64, T)>) -> Result<Box<[Part<T>]>, CostError> {
    if parts.is_empty() || parts.len() > PARTS_MAX {
        return Err(CostError::Parts);
    }
    let sum: f64 = parts.iter().map(|(share, _)| share).sum();
    let positive = parts.iter().all(|(share, _)| *share > 0.0);
    // What is no number is not in it.
    if !positive || !(1.0 - 1e-6..1.0 + 1e-6).contains(&sum) {
        return Err(CostError::Shares);
    }
    let mut before = 0.0;
    let parts = parts.into_iter().map(|(share, what)| {
        before += share / sum;
        Part { up_to: (before * 2f64.powi(64)) as u64, what }
    });
    Ok(parts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Entity;

    fn mean(cost: &Cost) -> f64 {
        let mut stream = Stream::new(3, Entity::Maker, 1);
        let sum: u64 = (0..200_000).map(|_| cost.draw(&mut stream)).sum();
        sum as f64 / 200_000.0
    }

    #[test]
    fn means_are_what_they_should_be() {
        let near = |cost: &Cost, expected: f64| {
            let mean = mean(cost);
            assert!((mean / expected - 1.0).abs() < 0.02, "{cost:?}: {mean}, not {expected}");
        };
        near(&Cost::Constant(70), 70.0);
        near(&Cost::Uniform { from_ns: 0, to_ns: 1000 }, 500.0);
        near(&Cost::Exponential { mean_ns: 4000.0 }, 4000.0);
        near(&Cost::LogNormal { median_ns: 1000.0, sigma: 0.5 }, 1000.0 * 0.125f64.exp());
        let parts = vec![(0.9, Cost::Constant(100)), (0.1, Cost::Constant(1100))];
        near(&Cost::mixture(parts).unwrap(), 200.0);
        near(&Cost::histogram(vec![(0, 99, 3), (1000, 1099, 1)]).unwrap(), 299.5);
    }

    #[test]
    fn impossible_distributions_are_refused() {
        let half = || vec![(0.5, Cost::ZERO)];
        assert_eq!(Cost::mixture(half()), Err(CostError::Shares));
        assert_eq!(Cost::mixture(vec![(f64::NAN, Cost::ZERO)]), Err(CostError::Shares));
        assert_eq!(Cost::mixture(vec![]), Err(CostError::Parts));
        assert_eq!(Cost::histogram(vec![(9, 8, 1)]), Err(CostError::Range));
        assert_eq!(Cost::Exponential { mean_ns: f64::NAN }.check(), Err(CostError::Range));
        assert_eq!(Cost::Uniform { from_ns: 2, to_ns: 1 }.check(), Err(CostError::Range));
    }
}
