//! One distribution of latencies.

use crate::{Counted, Quantile};
use hdrhistogram::Histogram;

/// Significant decimal digits that the histogram keeps: a quantile is within 0.1 % of a value that
/// was recorded.
const DIGITS: u8 = 3;

/// The most that a latency is told apart: 1000 s. Above, it counts in the last class; minimum,
/// mean and maximum stay exact.
const VALUE_MAX_NS: u64 = 1_000_000_000_000;

/// A distribution of latencies in nanoseconds. Count, minimum, maximum and mean are exact;
/// quantiles are within 0.1 % (`HdrHistogram`, three significant digits). About 200 KB.
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, VALUE_MAX_NS, DIGITS)
            .expect("the bounds are constants that HdrHistogram takes");
        Self { histogram, count: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl Latencies {
    /// Counts one latency. Allocates nothing.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.histogram.saturating_record(ns.max(1));
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds another distribution to this one.
    pub fn merge(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("both have the same bounds");
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The least; 0 where there is none.
    pub fn min_ns(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min_ns }
    }

    /// The most; 0 where there is none.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The mean; 0 where there is none.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// The latency that a share `q` (0–1) of all do not exceed; 0 where there is none.
    pub fn quantile_ns(&self, q: f64) -> u64 {
        if self.count == 0 {
            return 0;
        }
        self.histogram.value_at_quantile(q).clamp(self.min_ns, self.max_ns)
    }

    /// A quantile with its 95 % interval, for independent samples: see
    /// [`quantile_ranks`](crate::quantile_ranks). 0 and no interval where there is none.
    pub fn quantile(&self, q: f64) -> Quantile {
        let none = Quantile { ns: 0, low_ns: None, high_ns: None };
        Counted::from(self).quantile(q).unwrap_or(none)
    }

    /// The sum of so many of the highest, and the least of them, each within 0.1 %.
    pub fn highest(&self, count: u64) -> (u128, u64) {
        if count >= self.count {
            return (self.sum_ns, self.min_ns());
        }
        let classes: Vec<(u64, u64)> = self.classes().collect();
        let (mut left, mut sum_ns, mut from_ns) = (count, 0, self.max_ns);
        for (ns, of_class) in classes.into_iter().rev() {
            if left == 0 {
                break;
            }
            let taken = of_class.min(left);
            from_ns = ns.clamp(self.min_ns, self.max_ns);
            sum_ns += u128::from(from_ns) * u128::from(taken);
            left -= taken;
        }
        (sum_ns, from_ns)
    }

    /// How many are higher than a value, which is told apart within 0.1 %.
    pub fn over(&self, ns: u64) -> u64 {
        self.classes().filter(|(highest_ns, _)| *highest_ns > ns).map(|(_, count)| count).sum()
    }

    /// How wide the class of the most is: values that far out are told apart by this, in ns. At least
    /// 1.
    pub fn resolution_ns(&self) -> u64 {
        self.histogram.equivalent_range(self.max_ns.clamp(1, VALUE_MAX_NS)).max(1)
    }

    /// Classes that are not empty, as (highest value of the class, count), least first.
    pub fn classes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.histogram
            .iter_recorded()
            .map(|class| (class.value_iterated_to(), class.count_since_last_iteration()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_where_promised_and_close_elsewhere() {
        let mut all = Latencies::default();
        let (mut odd, mut even) = (Latencies::default(), Latencies::default());
        for ns in 1..=100_000u64 {
            all.record(ns * 10);
            if ns % 2 == 0 { even.record(ns * 10) } else { odd.record(ns * 10) }
        }
        odd.merge(&even);
        for latencies in [&all, &odd] {
            assert_eq!(latencies.count(), 100_000);
            assert_eq!((latencies.min_ns(), latencies.max_ns()), (10, 1_000_000));
            assert!((latencies.mean_ns() - 500_005.0).abs() < 1e-6);
            let p99 = latencies.quantile_ns(0.99);
            assert!(p99.abs_diff(990_000) <= 990, "{p99}");
        }
    }

    #[test]
    fn an_interval_holds_the_quantile_and_says_when_it_cannot() {
        let mut latencies = Latencies::default();
        for ns in 1..=1000 {
            latencies.record(ns * 1000);
        }
        let median = latencies.quantile(0.5);
        let (low_ns, high_ns) = (median.low_ns.unwrap(), median.high_ns.unwrap());
        assert!(low_ns < median.ns && median.ns < high_ns);
        // n·q ± 1.96·√(n·q·(1−q)) = 500 ± 31.
        assert!(low_ns.abs_diff(469_000) < 2_000, "{median:?}");
        assert_eq!(latencies.quantile(0.9999).high_ns, None, "1000 samples do not bound p99.99");
    }

    #[test]
    fn nothing_recorded_is_all_zero() {
        let none = Latencies::default();
        assert_eq!((none.min_ns(), none.max_ns(), none.quantile_ns(0.5)), (0, 0, 0));
        assert_eq!(none.resolution_ns(), 1);
    }

    #[test]
    fn far_values_are_told_apart_by_a_thousandth() {
        let mut latencies = Latencies::default();
        latencies.record(1_000_000);
        assert_eq!(latencies.resolution_ns(), 512);
        latencies.record(u64::MAX);
        assert!(latencies.resolution_ns() < VALUE_MAX_NS / 1_000);
    }
}
