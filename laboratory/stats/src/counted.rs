//! Values with how often each was seen.

use crate::Latencies;

/// A sample as distinct values and how often each was seen: what a histogram file, a recording and a
/// measurement have in common. Exact as far as the values are: those of a file are its bins' (see
/// [`Sample::resolution_ns`](crate::Sample)). 16 bytes per distinct value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Strictly ascending; no count is 0.
    classes: Vec<(u64, u64)>,
    count: u64,
    sum_ns: u128,
}

impl Counted {
    /// From pairs of (value in ns, how often), in any order; a value may come more than once.
    pub fn new(pairs: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut classes: Vec<(u64, u64)> =
            pairs.into_iter().filter(|&(_, count)| count > 0).collect();
        classes.sort_unstable_by_key(|&(ns, _)| ns);
        classes.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        let count = classes.iter().map(|&(_, count)| count).sum();
        let sum_ns = classes.iter().map(|&(ns, count)| u128::from(ns) * u128::from(count)).sum();
        Self { classes, count, sum_ns }
    }

    /// From single values.
    pub fn of_values(values: impl IntoIterator<Item = u64>) -> Self {
        Self::new(values.into_iter().map(|ns| (ns, 1)))
    }

    /// Adds another one to this one.
    pub fn merge(&mut self, other: &Self) {
        *self = Self::new(self.classes.iter().chain(&other.classes).copied());
    }

    /// All of several as one.
    pub fn merged<'a>(several: impl IntoIterator<Item = &'a Self>) -> Self {
        Self::new(several.into_iter().flat_map(|one| one.classes.iter().copied()))
    }

    /// How many values there are, each as often as it was seen.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The least; `None` where there is none.
    pub fn min_ns(&self) -> Option<u64> {
        self.classes.first().map(|&(ns, _)| ns)
    }

    /// The most; `None` where there is none.
    pub fn max_ns(&self) -> Option<u64> {
        self.classes.last().map(|&(ns, _)| ns)
    }

    /// The sum of all.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The mean; 0 where there is none.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// The value of rank `rank`, counted from 1 for the least; of the nearest rank there is where it
    /// is out of range. `None` where there is none.
    pub fn ranked_ns(&self, rank: u64) -> Option<u64> {
        let mut below = 0;
        self.classes
            .iter()
            .find(|&&(_, count)| {
                below += count;
                below >= rank
            })
            .or(self.classes.last())
            .map(|&(ns, _)| ns)
    }

    /// The value that a share `q` (0–1) of all do not exceed, by the nearest rank: the least value of
    /// rank ⌈q·n⌉. `None` where there is none.
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        self.ranked_ns(((q * self.count as f64).ceil() as u64).max(1))
    }

    /// How many are at most `ns`.
    pub fn count_up_to(&self, ns: u64) -> u64 {
        self.classes.iter().take_while(|class| class.0 <= ns).map(|&(_, count)| count).sum()
    }

    /// Distinct values in ns with how often each was seen, least first.
    pub fn classes(&self) -> &[(u64, u64)] {
        &self.classes
    }
}

/// The classes of the histogram: values within 0.1 % of those recorded, minimum and maximum exact.
impl From<&Latencies> for Counted {
    fn from(latencies: &Latencies) -> Self {
        let (min_ns, max_ns) = (latencies.min_ns(), latencies.max_ns());
        Self::new(latencies.classes().map(|(ns, count)| (ns.clamp(min_ns, max_ns), count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_in_any_order_become_one_sample() {
        let counted = Counted::new([(30, 1), (10, 2), (20, 0), (10, 3)]);
        assert_eq!(counted.classes(), [(10, 5), (30, 1)]);
        assert_eq!((counted.count(), counted.sum_ns()), (6, 80));
        assert_eq!((counted.min_ns(), counted.max_ns()), (Some(10), Some(30)));
        let mut both = Counted::of_values([30, 5]);
        both.merge(&counted);
        assert_eq!(both.classes(), [(5, 1), (10, 5), (30, 2)]);
        assert_eq!(both.count_up_to(10), 6);
    }

    #[test]
    fn quantiles_are_of_the_nearest_rank() {
        let counted = Counted::of_values(1..=10);
        let quantiles = [0.0, 0.1, 0.11, 0.5, 0.99, 1.0, 2.0].map(|q| counted.quantile_ns(q));
        assert_eq!(quantiles, [1, 1, 2, 5, 10, 10, 10].map(Some));
        assert_eq!(Counted::default().quantile_ns(0.5), None);
        assert_eq!(Counted::default().max_ns(), None);
    }

    #[test]
    fn what_was_recorded_keeps_its_ends() {
        let mut latencies = Latencies::default();
        for ns in [123_456_789, 1_234_567, 1_234_567] {
            latencies.record(ns);
        }
        let counted = Counted::from(&latencies);
        assert_eq!(counted.count(), 3);
        assert_eq!(counted.max_ns(), Some(123_456_789));
        assert!(counted.min_ns().unwrap().abs_diff(1_234_567) < 1_235);
    }
}
