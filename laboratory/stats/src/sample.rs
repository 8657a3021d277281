//! One side of a comparison.

use crate::Counted;

/// Latencies of one thread, or of one method, under one condition.
///
/// They come in *blocks* in order of time: neighbours in time resemble each other, so what may be
/// drawn anew, exchanged or counted as independent is a block, not a single latency. A file that does
/// not tell the order of its values is one block, and then all that can be done is to take them for
/// independent, which the comparison says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// What it is called.
    pub name: String,
    /// In order of time. None is empty.
    pub blocks: Vec<Counted>,
    /// Values closer than this are not told apart: the width of a file's bins, else 1.
    pub resolution_ns: u64,
}

impl Sample {
    /// A sample whose order in time is not known.
    pub fn unordered(name: impl Into<String>, counted: Counted, resolution_ns: u64) -> Self {
        let blocks = if counted.is_empty() { vec![] } else { vec![counted] };
        Self { name: name.into(), blocks, resolution_ns }
    }

    /// A series in order of time, in `blocks` of equal length, the last ones shorter by one where it
    /// does not divide; fewer where there are fewer values.
    pub fn of_series(name: impl Into<String>, series: &[u64], blocks: usize) -> Self {
        let count = blocks.clamp(1, series.len().max(1));
        let at = |block: usize| block * series.len() / count;
        let block = |index| Counted::of_values(series[at(index)..at(index + 1)].iter().copied());
        let blocks = (0..count).map(block).filter(|block| !block.is_empty()).collect();
        Self { name: name.into(), blocks, resolution_ns: 1 }
    }

    /// All blocks as one.
    pub fn whole(&self) -> Counted {
        Counted::merged(&self.blocks)
    }

    /// How many latencies.
    pub fn count(&self) -> u64 {
        self.blocks.iter().map(Counted::count).sum()
    }

    /// Whether the order in time is known, as far as blocks go.
    pub fn is_ordered(&self) -> bool {
        self.blocks.len() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_cut_into_blocks_that_hold_all_of_it() {
        let series: Vec<u64> = (0..10).collect();
        let sample = Sample::of_series("a", &series, 4);
        let counts: Vec<u64> = sample.blocks.iter().map(Counted::count).collect();
        assert_eq!(counts, [2, 3, 2, 3]);
        assert_eq!(sample.whole(), Counted::of_values(0..10));
        assert_eq!(Sample::of_series("a", &series[..2], 4).blocks.len(), 2);
        assert!(Sample::of_series("a", &[], 4).blocks.is_empty());
        assert!(!Sample::unordered("a", Counted::of_values(0..10), 1).is_ordered());
    }
}
