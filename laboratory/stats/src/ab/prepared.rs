//! Both sides on one grid of values, in blocks that are not too many.

use super::{BLOCKS_MAX, BLOCKS_MIN, Basis, PAIRS_MIN};
use crate::{Counted, Sample};

/// One side as the tests see it.
pub(super) struct Prepared {
    /// In order of time; none is empty.
    pub(super) blocks: Vec<Counted>,
    /// All of them as one.
    pub(super) whole: Counted,
}

/// Both sides on the coarser one's grid, so that a file's bins, which round down, are not compared
/// with exact values, which do not: (A, B, width of the grid).
pub(super) fn prepare(a: &Sample, b: &Sample) -> (Prepared, Prepared, u64) {
    let declared = a.resolution_ns.max(b.resolution_ns).max(1);
    let (a, b) = (Prepared::new(a, declared), Prepared::new(b, declared));
    let width = tick(&Counted::merged([&a.whole, &b.whole])).max(declared);
    (a, b, width)
}

/// Fewer distinct values than this do not show at what distance they come.
const TICKS_MIN: usize = 10;

/// The distance that all values are multiples of, from each other: more than 1 where a clock ticks
/// coarsely, or where it was not said that a file has bins.
pub(super) fn tick(counted: &Counted) -> u64 {
    let classes = counted.classes();
    if classes.len() < TICKS_MIN {
        return 1;
    }
    classes.windows(2).fold(0, |tick, pair| gcd(tick, pair[1].0 - pair[0].0))
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

/// What may be taken for independent in two samples of so many blocks.
pub(super) fn basis(a: &Prepared, b: &Prepared) -> Basis {
    let fewer = a.blocks.len().min(b.blocks.len());
    if fewer >= BLOCKS_MIN { Basis::Blocks } else { Basis::Values }
}

/// Whether two samples of so many blocks can be paired.
pub(super) fn are_pairs(a: usize, b: usize) -> bool {
    a == b && a >= PAIRS_MIN
}

impl Prepared {
    pub(super) fn new(sample: &Sample, width: u64) -> Self {
        let given: Vec<&Counted> = sample.blocks.iter().filter(|block| !block.is_empty()).collect();
        let count = given.len().min(BLOCKS_MAX);
        let at = |index: usize| index * given.len() / count.max(1);
        let merged = |index| Counted::merged(given[at(index)..at(index + 1)].iter().copied());
        let blocks: Vec<Counted> = (0..count).map(|index| on_grid(merged(index), width)).collect();
        Self { whole: Counted::merged(&blocks), blocks }
    }
}

fn on_grid(counted: Counted, width: u64) -> Counted {
    if counted.classes().iter().all(|&(ns, _)| ns % width == 0) {
        return counted;
    }
    Counted::new(counted.classes().iter().map(|&(ns, count)| (ns / width * width, count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_finer_side_goes_to_the_coarser_ones_bins() {
        let fine = Sample::unordered("fine", Counted::of_values([1999, 2000, 2001]), 1);
        let coarse = Sample::unordered("coarse", Counted::new([(1000, 1), (2000, 2)]), 1000);
        let (fine, coarse, width) = prepare(&fine, &coarse);
        assert_eq!((width, &fine.whole), (1000, &coarse.whole));
    }

    #[test]
    fn a_coarse_clock_shows() {
        let ticks = Counted::of_values((3..20).map(|tick| 7 + tick * 52));
        assert_eq!(tick(&ticks), 52);
        assert_eq!(tick(&Counted::of_values((0..20).map(|at| at * at))), 1);
        assert_eq!(tick(&Counted::of_values([0, 5000])), 1, "two values are no grid");
    }

    #[test]
    fn many_blocks_become_fewer_and_longer_ones_that_hold_all() {
        let series: Vec<u64> = (0..10_000).collect();
        let many = Prepared::new(&Sample::of_series("a", &series, 1000), 1);
        assert_eq!((many.blocks.len(), many.whole.count()), (BLOCKS_MAX, 10_000));
        assert!(many.blocks.windows(2).all(|pair| pair[0].max_ns() < pair[1].min_ns()));
    }
}
