//! Latencies made by rule, with known properties. All in ns.

use std::f64::consts::TAU;
use tardy_stats::{Counted, Sample};

/// Draws the numbers.
pub(crate) struct Maker(fastrand::Rng);

impl Maker {
    /// The same seed, the same numbers.
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// A share of all, at random.
    pub(crate) fn is_one_of(&mut self, share: f64) -> bool {
        self.0.f64() < share
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.0.f64()).ln()).sqrt();
        radius * (TAU * self.0.f64()).cos()
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.0.f64()).ln()
    }

    /// A wakeup as cyclictest sees it on an idle PC: 8 µs, a jitter of 1.5 µs, and 1 in 100 later by
    /// 8 µs on average.
    pub(crate) fn wakeup(&mut self) -> u64 {
        let tail = if self.is_one_of(0.01) { self.exponential(8000.0) } else { 0.0 };
        ns(8000.0 + 1500.0 * self.normal() + tail)
    }

    /// `n` of them.
    pub(crate) fn wakeups(&mut self, n: usize) -> Vec<u64> {
        (0..n).map(|_| self.wakeup()).collect()
    }

    /// Wakeups of which each remembers 95 % of how the one before differed from usual: 39 of them
    /// tell as much as one independent value.
    pub(crate) fn sluggish(&mut self, n: usize) -> Vec<u64> {
        const MEMORY: f64 = 0.95;
        let own = 1500.0 * (1.0_f64 - MEMORY * MEMORY).sqrt();
        let mut level = 1500.0 * self.normal();
        let mut next = || {
            level = MEMORY * level + own * self.normal();
            ns(8000.0 + level)
        };
        (0..n).map(|_| next()).collect()
    }

    /// Wakeups that are 4 µs later for spells of 20 on average, a third of the time.
    pub(crate) fn moody(&mut self, n: usize) -> Vec<u64> {
        let mut is_late = self.is_one_of(1.0 / 3.0);
        let mut next = || {
            let ends = if is_late { 1.0 / 20.0 } else { 1.0 / 40.0 };
            is_late ^= self.is_one_of(ends);
            self.wakeup() + if is_late { 4000 } else { 0 }
        };
        (0..n).map(|_| next()).collect()
    }

    /// Wakeups with a tail whose variance is infinite: Pareto's with exponent 1.5.
    pub(crate) fn wild(&mut self, n: usize) -> Vec<u64> {
        let mut next = || {
            let tail = (1.0 - self.0.f64()).powf(-1.0 / 1.5);
            ns(6000.0 + 1000.0 * tail)
        };
        (0..n).map(|_| next()).collect()
    }
}

fn ns(value: f64) -> u64 {
    value.max(1000.0) as u64
}

/// As a histogram file keeps them: whole µs.
pub(crate) fn binned(mut sample: Sample) -> Sample {
    for block in &mut sample.blocks {
        let classes = block.classes().iter().map(|&(ns, count)| (ns / 1000 * 1000, count));
        *block = Counted::new(classes);
    }
    Sample { resolution_ns: 1000, ..sample }
}

/// Without their order.
pub(crate) fn unordered(name: &str, series: Vec<u64>) -> Sample {
    Sample::unordered(name, Counted::of_values(series), 1)
}
