//! Exact 1-µs bins, as cyclictest counts them.

use std::hint::black_box;

/// The most bins: 1 s, cyclictest's own bound (`HIST_MAX`).
pub const HISTOGRAM_MAX_US: usize = 1_000_000;

/// Latencies of one thread in bins of 1 µs, as cyclictest's `-h`. Takes 16 bytes a bin, all of them
/// at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// How many latencies fell into each microsecond, from 0.
    pub(crate) bins: Vec<u64>,
    /// The cycles, counted from 0, whose latency lay above the bins; the first ones only, at most
    /// as many as there are bins.
    pub(crate) overflow_cycles: Vec<u64>,
    /// Latencies above the bins.
    pub(crate) overflows: u64,
    /// The least, truncated to µs; 0 where there is none.
    pub(crate) min_us: u64,
    /// The sum of the truncated latencies.
    pub(crate) sum_us: u64,
    /// The most, truncated to µs.
    pub(crate) max_us: u64,
}

impl Histogram {
    /// Bins for 0 to `bins_us` − 1 µs, at most [`HISTOGRAM_MAX_US`] of them, with every page of
    /// theirs touched.
    pub fn new(bins_us: usize) -> Self {
        let bins_us = bins_us.min(HISTOGRAM_MAX_US);
        Self {
            bins: touched(bins_us),
            overflow_cycles: {
                let mut cycles = touched(bins_us);
                cycles.clear();
                cycles
            },
            overflows: 0,
            min_us: 0,
            sum_us: 0,
            max_us: 0,
        }
    }

    /// Counts a return at `now_ns` from a wait for `expiry_ns`. Both are truncated to µs before
    /// they are subtracted, as cyclictest's `calcdiff` does; so a bin is within 1 µs of the latency
    /// truncated. Allocates nothing.
    #[inline]
    pub fn record(&mut self, now_ns: u64, expiry_ns: u64, cycle: u64) {
        let us = (now_ns / 1000).saturating_sub(expiry_ns / 1000);
        self.min_us = if cycle == 0 { us } else { self.min_us.min(us) };
        self.max_us = self.max_us.max(us);
        self.sum_us = self.sum_us.saturating_add(us);
        if let Some(bin) = self.bins.get_mut(us as usize) {
            *bin += 1;
        } else {
            self.overflows += 1;
            if self.overflow_cycles.len() < self.bins.len() {
                self.overflow_cycles.push(cycle);
            }
        }
    }

    /// How many latencies fell into each microsecond, from 0.
    pub fn bins(&self) -> &[u64] {
        &self.bins
    }

    /// How many lay above the bins.
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    /// How many in all.
    pub fn count(&self) -> u64 {
        self.bins.iter().sum::<u64>() + self.overflows
    }

    /// The mean of the truncated latencies, in µs; 0 where there is none.
    pub fn mean_us(&self) -> f64 {
        self.sum_us as f64 / self.count().max(1) as f64
    }

    /// The least, the mean and the most in whole µs, as cyclictest prints them: truncated. All 0
    /// where there is none.
    pub fn min_avg_max_us(&self) -> (u64, u64, u64) {
        (self.min_us, self.sum_us / self.count().max(1), self.max_us)
    }
}

/// Zeros in memory that is really there: `vec![0; n]` alone comes as pages yet to be faulted in.
fn touched(len: usize) -> Vec<u64> {
    let mut zeros = vec![0; len];
    black_box(zeros.as_mut_slice()).fill(0);
    zeros
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_both_ends_as_cyclictest_does() {
        let mut histogram = Histogram::new(3);
        histogram.record(12_000, 10_999, 0); // 1.001 µs: 12 − 10
        histogram.record(11_999, 10_000, 1); // 1.999 µs: 11 − 10
        histogram.record(14_000, 10_000, 2); // above
        histogram.record(13_000, 10_000, 3); // the first above the last bin
        assert_eq!(histogram.bins(), [0, 1, 1]);
        assert_eq!((histogram.overflows(), histogram.count()), (2, 4));
        assert_eq!(histogram.overflow_cycles, [2, 3]);
        assert_eq!(histogram.min_avg_max_us(), (1, 10 / 4, 4));
        assert!((histogram.mean_us() - 2.5).abs() < 1e-9);
    }

    #[test]
    fn keeps_no_more_overflow_cycles_than_it_has_bins() {
        let mut histogram = Histogram::new(2);
        for cycle in 0..5 {
            histogram.record(1_000_000, 0, cycle);
        }
        assert_eq!((histogram.overflow_cycles.as_slice(), histogram.overflows()), (&[0, 1][..], 5));
    }
}
