//! Latenesses as figures: counts in narrow bins per block of time, so that blocks can be drawn anew cheaply.

/// Blocks of time that are taken for independent.
pub(crate) const BLOCKS: usize = 20;

/// Bins per doubling: each is 1/64 of an octave, 1.1 % wide.
const PER_OCTAVE: u32 = 64;

/// Below this, ns, each value has a bin of its own.
const LINEAR: u64 = 64;

/// Bins up to the largest `u64`.
const BINS: usize = (LINEAR + 58 * PER_OCTAVE as u64) as usize;

fn bin(ns: u64) -> usize {
    if ns < LINEAR {
        return ns as usize;
    }
    let octave = ns.ilog2();
    // The bits below the first one, as a fraction of 64.
    let within = (ns >> (octave - 6)) & u64::from(PER_OCTAVE - 1);
    (LINEAR + u64::from((octave - 6) * PER_OCTAVE) + within) as usize
}

/// Different lengths of what is added, at most.
const PARTS_MAX: usize = 64;

/// The middle of a bin, ns.
fn middle(bin: usize) -> f64 {
    let bin = bin as u64;
    if bin < LINEAR {
        return bin as f64;
    }
    let above = bin - LINEAR;
    let octave = 6 + above / u64::from(PER_OCTAVE);
    let width = 2f64.powi(octave as i32 - 6);
    let from = 2f64.powi(octave as i32) + (above % u64::from(PER_OCTAVE)) as f64 * width;
    if octave == 6 { from } else { from + width / 2.0 }
}

/// Counts of one block.
#[derive(Clone, Debug, PartialEq)]
struct Block {
    counts: Vec<u32>,
    n: u64,
    sum_ns: u64,
    max_ns: u64,
}

impl Default for Block {
    fn default() -> Self {
        Self { counts: vec![0; BINS], n: 0, sum_ns: 0, max_ns: 0 }
    }
}

/// Latenesses by block of time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Blocks {
    blocks: Vec<Block>,
    span_ns: u64,
}

/// Means by block of time, of those of whom nothing else is asked: how many, and how late in all, ns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Means {
    blocks: [(u64, u64); BLOCKS],
    span_ns: u64,
}

impl Means {
    pub(crate) fn new(span_ns: u64) -> Self {
        Self { blocks: [(0, 0); BLOCKS], span_ns: span_ns.max(1) }
    }

    /// As [`Blocks::add`].
    pub(crate) fn add(&mut self, at_ns: u64, lateness_ns: u64) {
        let (n, sum_ns) = &mut self.blocks[block_of(at_ns, self.span_ns)];
        *n += 1;
        *sum_ns = sum_ns.saturating_add(lateness_ns);
    }

    /// The mean of these blocks, each as often as it is named, ns; 0 where nobody was late in any.
    pub(crate) fn mean_ns(&self, blocks: impl Iterator<Item = usize>) -> f64 {
        let (n, sum_ns) = blocks.fold((0, 0.0), |(n, sum_ns), at| {
            let (more, more_ns) = self.blocks[at];
            (n + more, sum_ns + more_ns as f64)
        });
        sum_ns / n.max(1) as f64
    }
}

/// The block in which something lies that was so long after the beginning.
fn block_of(at_ns: u64, span_ns: u64) -> usize {
    let block = (u128::from(at_ns) * BLOCKS as u128 / u128::from(span_ns)) as usize;
    block.min(BLOCKS - 1)
}

/// Latenesses of some blocks.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    counts: Vec<u64>,
    n: u64,
    sum_ns: f64,
    max_ns: u64,
}

/// Figures of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// How many wakeups.
    pub n: u64,
    /// The mean, ns.
    pub mean_ns: f64,
    /// Half are below, ns.
    pub p50_ns: f64,
    /// 99 % are below, ns.
    pub p99_ns: f64,
    /// 99.9 % are below, ns.
    pub p999_ns: f64,
    /// The mean of the latest 1 %, ns.
    pub worst_percent_ns: f64,
    /// The largest, ns.
    pub max_ns: f64,
}

impl Figures {
    /// They, in the order in which they are shown, `n` aside.
    pub fn all(&self) -> [f64; 6] {
        [self.mean_ns, self.p50_ns, self.p99_ns, self.p999_ns, self.worst_percent_ns, self.max_ns]
    }

    /// Their names.
    pub const NAMES: [&'static str; 6] = ["mean", "p50", "p99", "p99.9", "worst 1 %", "max"];
}

impl Blocks {
    pub(crate) fn new(span_ns: u64) -> Self {
        Self { blocks: vec![Block::default(); BLOCKS], span_ns: span_ns.max(1) }
    }

    /// A lateness of a wakeup that was due so long after the beginning.
    pub(crate) fn add(&mut self, at_ns: u64, lateness_ns: u64) {
        let block = &mut self.blocks[block_of(at_ns, self.span_ns)];
        block.counts[bin(lateness_ns)] += 1;
        block.n += 1;
        block.sum_ns = block.sum_ns.saturating_add(lateness_ns);
        block.max_ns = block.max_ns.max(lateness_ns);
    }

    /// Of all blocks.
    pub(crate) fn figures(&self) -> Figures {
        self.sample(0..BLOCKS).figures()
    }

    /// Of these blocks, each as often as it is named.
    pub(crate) fn sample(&self, blocks: impl Iterator<Item = usize>) -> Sample {
        let mut sample = Sample { counts: vec![0; BINS], n: 0, sum_ns: 0.0, max_ns: 0 };
        for at in blocks {
            let block = &self.blocks[at];
            sample.n += block.n;
            sample.sum_ns += block.sum_ns as f64;
            sample.max_ns = sample.max_ns.max(block.max_ns);
            if block.n > 0 {
                for (count, more) in sample.counts.iter_mut().zip(&block.counts) {
                    *count += u64::from(*more);
                }
            }
        }
        sample
    }

    pub(crate) fn count(&self) -> u64 {
        self.blocks.iter().map(|block| block.n).sum()
    }
}

impl Sample {
    /// The lateness below which this share is, ns: the middle of its bin; 0 where there is none.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let rank = ((self.n as f64 * share).ceil() as u64).clamp(1, self.n.max(1));
        let mut below = 0;
        let at = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        at.map_or(0.0, middle)
    }

    /// The share of them that are as long as `ns` or longer, to a bin; 0 where there are none.
    pub(crate) fn share_from(&self, ns: u64) -> f64 {
        let longer: u64 = self.counts[bin(ns)..].iter().sum();
        longer as f64 / self.n.max(1) as f64
    }

    pub(crate) fn figures(&self) -> Figures {
        if self.n == 0 {
            return Figures::default();
        }
        let worst = (self.n / 100).max(1);
        let (mut worst_ns, mut left) = (0.0, worst);
        for (at, count) in self.counts.iter().enumerate().rev().filter(|(_, count)| **count > 0) {
            let taken = left.min(*count);
            worst_ns += taken as f64 * middle(at);
            left -= taken;
            if left == 0 {
                break;
            }
        }
        Figures {
            n: self.n,
            mean_ns: self.sum_ns / self.n as f64,
            p50_ns: self.quantile(0.5),
            p99_ns: self.quantile(0.99),
            p999_ns: self.quantile(0.999),
            worst_percent_ns: worst_ns / worst as f64,
            max_ns: self.max_ns as f64,
        }
    }

    /// The same where each lateness is another one.
    pub(crate) fn moved(&self, move_ns: impl Fn(f64) -> f64) -> Self {
        let mut moved = Self { counts: vec![0; BINS], n: self.n, sum_ns: 0.0, max_ns: 0 };
        for (at, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let ns = move_ns(middle(at));
            moved.counts[bin(ns.round() as u64)] += count;
            moved.sum_ns += *count as f64 * ns;
        }
        moved.max_ns = move_ns(self.max_ns as f64) as u64;
        moved
    }

    /// The sums of one of these and one of those, drawn independently of each other.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let mut parts: Vec<(f64, u64)> = Vec::new();
        let there = other.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        for (at, count) in there {
            parts.push((middle(at), *count));
        }
        if parts.iter().all(|(ns, _)| *ns == 0.0) {
            return self.clone();
        }
        while parts.len() > PARTS_MAX {
            // Neighbours become one: the tail, where each is rare, is the last to be coarse.
            let merged = parts.chunks(2).map(|pair| {
                let count: u64 = pair.iter().map(|(_, count)| count).sum();
                let sum_ns: f64 = pair.iter().map(|(ns, count)| ns * *count as f64).sum();
                (sum_ns / count as f64, count)
            });
            parts = merged.collect();
        }
        let (n, of) = (self.n as f64, other.n as f64);
        let mut sums = Self {
            counts: vec![0; BINS],
            n: self.n.saturating_mul(other.n),
            sum_ns: self.sum_ns * of + other.sum_ns * n,
            max_ns: self.max_ns.max(other.max_ns + self.quantile(0.5) as u64),
        };
        for (at, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            for (ns, times) in &parts {
                sums.counts[bin((middle(at) + ns).round() as u64)] += count * times;
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_middle_of_its_bin() {
        for ns in (0..200).chain([1_000, 4_095, 4_096, 123_456, 1 << 40, u64::MAX]) {
            let middle = middle(bin(ns));
            assert!((middle - ns as f64).abs() <= ns as f64 * 0.008, "{ns}: {middle}");
        }
    }

    #[test]
    fn figures_are_those_of_the_sample() {
        let mut blocks = Blocks::new(1_000);
        for at in 0..1_000u64 {
            blocks.add(at, 1_000 + at);
        }
        let figures = blocks.figures();
        let near = |figure: f64, expected: f64| {
            assert!((figure / expected - 1.0).abs() < 0.012, "{figure}, not {expected}");
        };
        near(figures.mean_ns, 1_499.5);
        near(figures.p50_ns, 1_499.0);
        near(figures.p99_ns, 1_989.0);
        near(figures.p999_ns, 1_998.0);
        near(figures.worst_percent_ns, 1_994.5);
        assert_eq!((figures.n, figures.max_ns), (1_000, 1_999.0));
        assert_eq!(blocks.sample([3, 3].into_iter()).figures().n, 100);
    }
}
