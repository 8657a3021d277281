//! Bins that several samples share.

use super::{Line, is_long_tailed, range_ns};
use crate::page::Axis;

/// Bins at most.
pub(super) const BINS_MAX: usize = 90;

/// A logarithmic scale begins here where values go down to 0.
const LOG_FROM_NS: u128 = 1_000;

/// Borders in ns, ascending, at least two; every value of every line is at or above the first and
/// below the last. They are multiples of the coarsest line's resolution: no bin holds a part of
/// another one's bin, which would make teeth that are not in the data.
pub(super) struct Bins {
    /// The borders.
    pub(super) borders_ns: Vec<u64>,
    /// Whether they are equal in ratio rather than in width.
    pub(super) is_log: bool,
}

impl Bins {
    /// Bins for all of them; `None` where there is no value.
    pub(super) fn of(lines: &[Line<'_>]) -> Option<Self> {
        let (least, most) = range_ns(lines)?;
        let unit = lines.iter().map(|line| line.resolution_ns).max().unwrap_or(1).max(1);
        let is_log = is_long_tailed(lines);
        // Values may be anything up to 2^64; their borders too, and one more.
        let (unit, first, end) = (u128::from(unit), u128::from(least), u128::from(most) + 1);
        let below = first / unit * unit;
        let mut borders: Vec<u128> = if is_log {
            let from = below.max(unit.min(LOG_FROM_NS)) as f64;
            let step = (end as f64 / from).max(1.1).powf(1.0 / (BINS_MAX - 2) as f64);
            let border = |at: usize| (from * step.powi(at as i32)) as u128;
            let upper = (1..BINS_MAX - 1).map(|at| border(at).div_ceil(unit) * unit);
            std::iter::once(below).chain(upper).collect()
        } else {
            let width = Axis::round_step((end - below) as f64 / (BINS_MAX - 2) as f64) as u128;
            let width = width.max(1).div_ceil(unit) * unit;
            (0..BINS_MAX as u128).map(|at| (below / width + at) * width).collect()
        };
        borders.dedup();
        let needed = borders.partition_point(|&border| border < end);
        borders.truncate(needed + 1);
        if borders.last().is_none_or(|&last| last < end) {
            // The last one, made wider rather than one of a sliver added.
            borders.truncate(borders.len().saturating_sub(1).max(1));
            borders.push(end.div_ceil(unit) * unit);
        }
        let narrowed = borders.into_iter().map(|ns| u64::try_from(ns).unwrap_or(u64::MAX));
        Some(Self { borders_ns: narrowed.collect(), is_log })
    }

    /// How many bins.
    pub(super) fn len(&self) -> usize {
        self.borders_ns.len() - 1
    }

    /// From where to where a bin is.
    pub(super) fn bin(&self, at: usize) -> (u64, u64) {
        (self.borders_ns[at], self.borders_ns[at + 1])
    }

    /// How many of a line's values are in each.
    pub(super) fn counts(&self, line: &Line<'_>) -> Vec<u64> {
        let mut counts = vec![0; self.len()];
        for &(ns, count) in line.values.classes() {
            let above = self.borders_ns.partition_point(|&border| border <= ns);
            counts[above.saturating_sub(1).min(self.len() - 1)] += count;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tardy_stats::Counted;

    fn line(values: &Counted, resolution_ns: u64) -> Line<'_> {
        Line { name: "", colour: 0, values, resolution_ns, known_share: 1.0 }
    }

    proptest! {
        #[test]
        fn every_value_is_in_one_bin(
            fine in proptest::collection::vec(prop_oneof![0u64..100_000, any::<u64>()], 1..40),
            coarse in proptest::collection::vec(0u64..5_000, 0..40),
            unit in prop_oneof![Just(1u64), Just(1_000), Just(10_000)],
        ) {
            let fine = Counted::of_values(fine);
            let coarse = Counted::of_values(coarse.iter().map(|at| at * unit));
            let lines = [line(&fine, 1), line(&coarse, unit)];
            let bins = Bins::of(&lines).unwrap();
            prop_assert!(bins.len() <= BINS_MAX);
            prop_assert!(bins.borders_ns.is_sorted());
            for line in &lines {
                prop_assert_eq!(bins.counts(line).iter().sum::<u64>(), line.values.count());
            }
            prop_assert!(bins.borders_ns[0] <= fine.min_ns().unwrap());
        }
    }

    #[test]
    fn borders_are_of_the_coarsest_resolution() {
        let fine = Counted::of_values([18_003, 20_501, 31_017]);
        let coarse = Counted::of_values([18_000, 25_000, 30_000, 700_000]);
        for lines in [vec![line(&fine, 1), line(&coarse, 1_000)], vec![line(&coarse, 1_000)]] {
            let bins = Bins::of(&lines).unwrap();
            assert!(bins.borders_ns.iter().all(|border| border.is_multiple_of(1_000)));
        }
        assert!(Bins::of(&[line(&Counted::default(), 1)]).is_none());
    }
}
