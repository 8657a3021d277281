//! What lies above a threshold, in cells, and the distribution that fits it best.

use super::gpd::Gpd;
use super::simplex::least;
use crate::Counted;

/// Values of excess are put into common cells where they differ by less than this share of the mean
/// excess, or …
const CELL_OF_MEAN: f64 = 0.02;
/// … of themselves: what the fit can see is coarser by far, and its cost stays bounded. 1 % more
/// each gives some hundred cells for any tail.
const CELL_OF_EXCESS: f64 = 0.01;

/// Excesses that cannot be told apart, or need not be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    /// From this excess on, ns …
    pub(super) from: f64,
    /// … to below this one. The last cell has no end.
    pub(super) to: f64,
    /// How many.
    pub(super) count: f64,
}

/// All that is at or above a threshold, in cells without gaps from 0 to ∞.
#[derive(Clone, Debug)]
pub(super) struct Exceedances {
    pub(super) threshold_ns: u64,
    pub(super) count: u64,
    pub(super) mean: f64,
    pub(super) cells: Vec<Cell>,
}

impl Exceedances {
    /// Of the values of `counted` from `threshold_ns` on. A value stands for all times from it to
    /// below the next that can be told apart: of `resolution_ns` ≥ 1.
    pub(super) fn above(counted: &Counted, threshold_ns: u64, resolution_ns: u64) -> Self {
        let first = counted.classes().partition_point(|class| class.0 < threshold_ns);
        let classes = &counted.classes()[first..];
        let width = resolution_ns as f64;
        let excesses =
            classes.iter().map(|&(ns, count)| ((ns - threshold_ns) as f64, count as f64));
        let count: u64 = classes.iter().map(|class| class.1).sum();
        let sum: f64 = excesses.clone().map(|(ns, count)| (ns + width / 2.0) * count).sum();
        let mean = sum / count.max(1) as f64;
        let mut cells: Vec<Cell> = Vec::new();
        let mut end = 0.0;
        for (from, count) in excesses {
            match cells.last_mut() {
                Some(cell) if from < cell.to => {
                    cell.count += count;
                    // A class may reach over the cell's end, where bins do not stand on one grid.
                    cell.to = cell.to.max(from + width);
                }
                _ => {
                    if from > end {
                        cells.push(Cell { from: end, to: from, count: 0.0 });
                    }
                    let wanted = CELL_OF_MEAN * mean + CELL_OF_EXCESS * from;
                    let to = from + (wanted / width).ceil().max(1.0) * width;
                    cells.push(Cell { from, to, count });
                }
            }
            end = cells.last().map_or(0.0, |cell| cell.to);
        }
        cells.push(Cell { from: end, to: f64::INFINITY, count: 0.0 });
        Self { threshold_ns, count, mean, cells }
    }

    /// How many cells hold something.
    pub(super) fn filled(&self) -> usize {
        self.cells.iter().filter(|cell| cell.count > 0.0).count()
    }

    /// The logarithm of the chance of these counts, but for what does not depend on `gpd`: the
    /// grouped likelihood, each cell by the chance of falling into it (Giesbrecht and Kempthorne,
    /// 1976). −∞ where something lies beyond the distribution's end.
    pub(super) fn ln_likelihood(&self, gpd: Gpd) -> f64 {
        if !(gpd.scale_ns > 0.0 && gpd.scale_ns.is_finite()) {
            return f64::NEG_INFINITY;
        }
        let mut sum = 0.0;
        // Cells have no gaps: the end of one is the beginning of the next.
        let mut ln_beyond = 0.0;
        for cell in &self.cells {
            let next =
                if cell.to.is_finite() { gpd.ln_survival(cell.to) } else { f64::NEG_INFINITY };
            if cell.count > 0.0 {
                sum += cell.count * (ln_beyond + (-(next - ln_beyond).exp_m1()).ln());
            }
            ln_beyond = next;
        }
        if sum.is_nan() { f64::NEG_INFINITY } else { sum }
    }

    /// The distribution of the greatest likelihood, with that.
    pub(super) fn fit(&self) -> (Gpd, f64) {
        self.fit_from(Gpd { scale_ns: self.mean, shape: 0.0 })
    }

    /// As [`Exceedances::fit`], looking near `start` first.
    pub(super) fn fit_from(&self, start: Gpd) -> (Gpd, f64) {
        let gpd = |[ln_scale, shape]: [f64; 2]| Gpd { scale_ns: ln_scale.exp(), shape };
        let start = [start.scale_ns.max(f64::MIN_POSITIVE).ln(), start.shape];
        let (place, least) = least(start, [0.1, 0.1], |place| -self.ln_likelihood(gpd(place)));
        (gpd(place), -least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_no_gaps_and_lose_nothing() {
        let counted = Counted::new([(5, 100), (10, 7), (11, 3), (40, 1), (9_000, 2)]);
        for resolution_ns in [1, 5] {
            let exceedances = Exceedances::above(&counted, 10, resolution_ns);
            assert_eq!((exceedances.threshold_ns, exceedances.count), (10, 13));
            let held: f64 = exceedances.cells.iter().map(|cell| cell.count).sum();
            assert!((held - 13.0).abs() < 1e-9);
            assert!(exceedances.cells[0].from <= 0.0);
            for pair in exceedances.cells.windows(2) {
                assert!((pair[0].to - pair[1].from).abs() < 1e-9 && pair[0].to > pair[0].from);
            }
            assert!(exceedances.cells.last().unwrap().to.is_infinite());
        }
        assert_eq!(Exceedances::above(&counted, 10_000, 1).filled(), 0);
    }

    #[test]
    fn a_fit_finds_what_was_drawn_however_coarse_the_bins() {
        let truth = Gpd { scale_ns: 8_000.0, shape: 0.15 };
        let mut random = fastrand::Rng::with_seed(5);
        let drawn: Vec<u64> =
            (0..20_000).map(|_| truth.surpassed_ns(random.f64().max(1e-300).ln()) as u64).collect();
        for bin_ns in [1, 1_000, 10_000] {
            let binned = Counted::of_values(drawn.iter().map(|ns| ns / bin_ns * bin_ns));
            let (fit, _) = Exceedances::above(&binned, 0, bin_ns).fit();
            assert!((fit.shape - 0.15).abs() < 0.03, "{bin_ns}: {fit:?}");
            assert!((fit.scale_ns / 8_000.0 - 1.0).abs() < 0.03, "{bin_ns}: {fit:?}");
        }
    }
}
