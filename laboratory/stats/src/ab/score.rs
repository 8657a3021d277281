//! What each test counts of a value.

use super::Test;
use super::grouped::{Grouped, share_above};
use crate::Counted;

/// What a value contributes to one test, chosen so that the mean over all values of both samples is
/// 0. It depends on both samples as one, so exchanging what belongs to whom does not change it:
///
/// * means: the value itself;
/// * ranks: its rank among all, ties sharing theirs (Mann and Whitney's U is the sum of ranks);
/// * a quantile: whether it lies above that quantile of all (Mood's median test, for any quantile),
///   where both samples, had they the same quantile, would have the same share.
pub(super) enum Score {
    /// From the mean of all.
    Mean { centre: f64 },
    /// From the middle rank, as a share of all.
    Ranks { values: Vec<u64>, ranks: Vec<f64> },
    /// From the share of all that is above.
    Above { bound: f64, width: f64, centre: f64 },
}

/// A score below this share of what it is told from is rounding.
const ROUNDING: f64 = 1e-12;

impl Score {
    pub(super) fn new(test: Test, all: &Counted, width: u64) -> Self {
        let grouped = Grouped::new(all, width);
        let n = all.count().max(1) as f64;
        match test {
            Test::Mean => Self::Mean { centre: all.mean_ns() },
            Test::Ranks => {
                let (values, ranks) = grouped
                    .classes_up_to()
                    .map(|(ns, count, up_to)| (ns, (up_to as f64 - count as f64 / 2.0) / n - 0.5))
                    .unzip();
                Self::Ranks { values, ranks }
            }
            Test::Quantile(q) => {
                let (bound, width) = (grouped.quantile(q), width as f64);
                let above =
                    |&(ns, count): &(u64, u64)| count as f64 * share_above(ns, width, bound);
                let centre = all.classes().iter().map(above).sum::<f64>() / n;
                Self::Above { bound, width, centre }
            }
        }
    }

    /// The score of a value that one of the samples has.
    pub(super) fn of(&self, ns: u64) -> f64 {
        match self {
            Self::Mean { centre } => from(ns as f64, *centre),
            Self::Ranks { values, ranks } => {
                let at = values.partition_point(|&value| value < ns);
                ranks.get(at).or(ranks.last()).copied().unwrap_or(0.0)
            }
            Self::Above { bound, width, centre } => from(share_above(ns, *width, *bound), *centre),
        }
    }

    /// Of many values: the sum, and the sum of squares.
    pub(super) fn sums(&self, counted: &Counted) -> (f64, f64) {
        counted.classes().iter().fold((0.0, 0.0), |(sum, squares), &(ns, count)| {
            let score = self.of(ns);
            (sum + count as f64 * score, squares + count as f64 * score * score)
        })
    }
}

fn from(value: f64, centre: f64) -> f64 {
    let away = value - centre;
    if away.abs() <= ROUNDING * centre.abs() { 0.0 } else { away }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_all_sum_to_nothing() {
        let all = Counted::new([(3, 5), (4, 1), (10, 20), (700, 2), (701, 2)]);
        for test in [Test::Mean, Test::Ranks, Test::Quantile(0.5), Test::Quantile(0.9)] {
            let score = Score::new(test, &all, 1);
            let (sum, squares) = score.sums(&all);
            assert!(sum.abs() < 1e-9 && squares > 0.0, "{test:?}: {sum}");
            assert!(score.of(701) > score.of(3));
        }
    }
}
