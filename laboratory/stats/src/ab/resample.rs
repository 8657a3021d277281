//! How far figures could have been elsewhere, had other blocks been seen.

use super::normal::{normal_below, t_quantile};
use super::permutation::welch;
use super::prepared::Prepared;
use crate::{Counted, Interval};

/// A class of the common grid holds at most this share of the values below it, or of those above,
/// whichever are fewer: what is drawn anew is interpolated within a class, and a 128th of a tail is
/// well within the chance of drawing it.
const TAIL_SHARE: u64 = 128;

/// Both sides' means and quantiles, as observed and as drawn anew.
pub(super) struct Drawn {
    /// Per figure: A's and B's, one per resample.
    figures: Vec<[Vec<f64>; 2]>,
    blocks: [usize; 2],
    is_paired: bool,
}

/// Draws blocks anew, with repetition, each side from its own or, in pairs, the same of both: the
/// mean first, then each of `quantiles`, which ascend.
///
/// k − 1 of k blocks are drawn, which makes the variance of what is drawn that of the figure (Rao and
/// Wu, "Resampling Inference With Complex Survey Data", 1988); k of k would be too small by 1/k.
///
/// Costs `resamples` × blocks × classes of the common grid steps. The grid has a class per distinct
/// value up to about a thousand, and grows with the logarithm of the values above that.
pub(super) fn resample(
    (a, b): (&Prepared, &Prepared),
    width: u64,
    quantiles: &[f64],
    is_paired: bool,
    (resamples, seed): (usize, u64),
) -> Drawn {
    let grid = Grid::new(&Counted::merged([&a.whole, &b.whole]), width);
    let sides = [a, b].map(|side| Side::new(side, &grid));
    let mut random = fastrand::Rng::with_seed(seed);
    let mut figures = vec![[const { vec![] }; 2]; quantiles.len() + 1];
    let mut drawn = [vec![], vec![]];
    for _ in 0..resamples {
        for (side, drawn) in sides.iter().zip(&mut drawn) {
            let k = side.rows.len();
            drawn.clear();
            drawn.extend((1..k).map(|_| random.usize(..k)));
        }
        if is_paired {
            let [one, other] = &mut drawn;
            other.clone_from(one);
        }
        for (at, (side, drawn)) in sides.iter().zip(&drawn).enumerate() {
            side.add(drawn, &grid, quantiles, |figure, value| figures[figure][at].push(value));
        }
    }
    Drawn { figures, blocks: [a.blocks.len(), b.blocks.len()], is_paired }
}

impl Drawn {
    /// The difference `value`, B − A, of a figure (0 the mean, then the quantiles) with the interval
    /// that holds the middle of the differences drawn anew: 95 %, and as much more as Student's
    /// distribution is wider than the normal one for so many blocks (Hesterberg, "What Teachers
    /// Should Know About the Bootstrap", 2015, 5.3).
    pub(super) fn interval(&self, figure: usize, value: f64) -> Interval {
        let [a, b] = &self.figures[figure];
        let mut differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
        if differences.is_empty() {
            return Interval { value, low: f64::NEG_INFINITY, high: f64::INFINITY };
        }
        let [freedom_a, freedom_b] = self.blocks.map(|blocks| (blocks - 1) as f64);
        let freedom = if self.is_paired {
            freedom_a
        } else {
            welch(variance(a), freedom_a, variance(b), freedom_b)
        };
        let tail = normal_below(-t_quantile(0.975, freedom));
        differences.sort_by(f64::total_cmp);
        let last = differences.len() - 1;
        let low = (tail * last as f64).round() as usize;
        // A figure is drawn around itself, so what was observed is within, but for a grid's rounding.
        Interval {
            value,
            low: differences[low].min(value),
            high: differences[last - low].max(value),
        }
    }
}

fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n
}

/// Classes that hold neighbouring values of both sides.
struct Grid {
    /// The last value of each class.
    last: Vec<u64>,
    /// Where its values begin and end.
    ends: Vec<(f64, f64)>,
}

impl Grid {
    fn new(all: &Counted, width: u64) -> Self {
        let half = width as f64 / 2.0;
        let mut grid = Self { last: vec![], ends: vec![] };
        let (mut below, mut held) = (0, 0);
        for &(ns, count) in all.classes() {
            let most = below.min(all.count() - below) / TAIL_SHARE;
            if held > 0 && held + count <= most {
                held += count;
                *grid.last.last_mut().expect("one is held") = ns;
                grid.ends.last_mut().expect("one is held").1 = ns as f64 + half;
            } else {
                below += held;
                held = count;
                grid.last.push(ns);
                grid.ends.push((ns as f64 - half, ns as f64 + half));
            }
        }
        grid
    }
}

/// Adding a number wherever it belongs costs about this many times what adding one after the other
/// does.
const SCATTER_COST: usize = 4;

/// How many values of a block each class of the grid has.
enum Row {
    /// Of every class.
    Dense(Vec<u64>),
    /// Of those that have any, with their places: short blocks have few.
    Sparse(Vec<(u32, u64)>),
}

impl Row {
    fn new(block: &Counted, grid: &Grid) -> Self {
        let mut row = vec![0; grid.last.len()];
        let mut class = 0;
        for &(ns, count) in block.classes() {
            class += grid.last[class..].partition_point(|&last| last < ns);
            row[class] += count;
        }
        let places = (0..).zip(&row).filter(|&(_, &count)| count > 0);
        let sparse: Vec<(u32, u64)> = places.map(|(place, &count)| (place, count)).collect();
        if sparse.len() * SCATTER_COST < row.len() {
            Self::Sparse(sparse)
        } else {
            Self::Dense(row)
        }
    }

    fn add_to(&self, totals: &mut [u64]) {
        match self {
            Self::Dense(row) => {
                for (total, count) in totals.iter_mut().zip(row) {
                    *total += count;
                }
            }
            Self::Sparse(row) => {
                for &(place, count) in row {
                    totals[place as usize] += count;
                }
            }
        }
    }
}

/// One side's blocks on the grid.
struct Side {
    rows: Vec<Row>,
    /// Per block, the sum of its values from the side's mean.
    sums: Vec<f64>,
    counts: Vec<u64>,
    mean: f64,
}

impl Side {
    fn new(side: &Prepared, grid: &Grid) -> Self {
        let mean = side.whole.mean_ns();
        let sum = |block: &Counted| -> f64 {
            block.classes().iter().map(|&(ns, count)| count as f64 * (ns as f64 - mean)).sum()
        };
        Self {
            rows: side.blocks.iter().map(|block| Row::new(block, grid)).collect(),
            sums: side.blocks.iter().map(sum).collect(),
            counts: side.blocks.iter().map(Counted::count).collect(),
            mean,
        }
    }

    /// The figures of the blocks `drawn`.
    fn add(&self, drawn: &[usize], grid: &Grid, quantiles: &[f64], mut to: impl FnMut(usize, f64)) {
        let n: u64 = drawn.iter().map(|&block| self.counts[block]).sum();
        let sum: f64 = drawn.iter().map(|&block| self.sums[block]).sum();
        to(0, self.mean + sum / n as f64);
        let mut totals = vec![0u64; grid.last.len()];
        for &block in drawn {
            self.rows[block].add_to(&mut totals);
        }
        let mut classes = totals.iter().zip(&grid.ends);
        let (mut below, mut count, mut ends) = (0, 0, (0.0, 0.0));
        for (at, q) in quantiles.iter().enumerate() {
            let aim = q * n as f64;
            while ((below + count) as f64) < aim || count == 0 {
                let Some((&total, &class_ends)) = classes.next() else { break };
                below += count;
                (count, ends) = (total, class_ends);
            }
            let share = if count > 0 { (aim - below as f64) / count as f64 } else { 1.0 };
            to(at + 1, ends.0 + (ends.1 - ends.0) * share.clamp(0.0, 1.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sample;

    fn of(series: &[u64], blocks: usize) -> Prepared {
        Prepared::new(&Sample::of_series("a", series, blocks), 1)
    }

    #[test]
    fn the_grid_is_exact_for_few_values_and_small_for_many() {
        let few = Counted::new([(5, 7), (6, 1), (900, 30)]);
        assert_eq!(Grid::new(&few, 1).last, [5, 6, 900]);
        let many = Counted::of_values((0..1_000_000).map(|at| at * 3));
        let grid = Grid::new(&many, 1);
        assert!(grid.last.len() < 6000, "{}", grid.last.len());
        assert_eq!(grid.last.last(), Some(&2_999_997));
    }

    #[test]
    fn short_blocks_and_long_ones_add_up_alike() {
        let grid = Grid::new(&Counted::of_values(0..100), 1);
        let (short, long) = (Counted::of_values([3, 3, 99]), Counted::of_values(0..100));
        let (short, long) = (Row::new(&short, &grid), Row::new(&long, &grid));
        assert!(matches!((&short, &long), (Row::Sparse(_), Row::Dense(_))));
        let mut totals = vec![0; grid.last.len()];
        for row in [&short, &long] {
            row.add_to(&mut totals);
        }
        assert_eq!((totals.iter().sum::<u64>(), totals[3], totals[99], totals[98]), (103, 3, 2, 1));
    }

    #[test]
    fn equal_blocks_leave_nothing_to_chance() {
        let series: Vec<u64> = (0..800).map(|at| at % 100).collect();
        let side = of(&series, 8);
        let drawn = resample((&side, &side), 1, &[0.5, 0.9], false, (50, 1));
        for figure in 0..3 {
            let Interval { low, high, .. } = drawn.interval(figure, 0.0);
            assert!(low.abs() < 1e-9 && high.abs() < 1e-9, "{figure}: {low} {high}");
        }
    }

    #[test]
    fn what_is_drawn_in_pairs_does_not_tell_the_rounds_apart() {
        let a: Vec<u64> = (0..1600).map(|at| 1000 + at / 100 * 300 + at * 7 % 100).collect();
        let b: Vec<u64> = a.iter().map(|ns| ns + 5).collect();
        let (a, b) = (of(&a, 16), of(&b, 16));
        let width = |is_paired| {
            let got = resample((&a, &b), 1, &[], is_paired, (500, 1)).interval(0, 5.0);
            got.high - got.low
        };
        assert!(width(true) < 1e-6 && width(false) > 1000.0, "{} {}", width(true), width(false));
    }
}
