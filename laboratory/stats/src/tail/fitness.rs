//! Is what lies above a threshold distributed as the fit says?

use super::exceedances::Exceedances;
use super::gpd::Gpd;

/// Draws from the limit distribution: p is known to a hundredth near 0.05.
const DRAWS: usize = 499;
/// A cell of the test holds at least so many, as expected; its count is then near enough to normal.
const EXPECTED_MIN: f64 = 2.0;
/// It also holds at least this share of what lies beyond its nearer side: cells get smaller
/// towards both ends, so that the far tail is not one cell.
const SHARE_MIN: f64 = 0.1;

/// The Anderson-Darling statistic of counts in cells, and the chance of one at least as large were
/// the fit true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fitness {
    pub(super) statistic: f64,
    pub(super) p: f64,
}

/// Observed and expected shares in cells wide enough for the test.
struct Grouped {
    /// Observed − expected counts, by √n.
    off: Vec<f64>,
    /// The chance of each cell.
    p: Vec<f64>,
    /// Its derivatives by ln σ and ξ.
    slopes: [Vec<f64>; 2],
}

impl Grouped {
    fn new(exceedances: &Exceedances, gpd: Gpd) -> Self {
        const STEP: f64 = 1e-4;
        let n = exceedances.count as f64;
        let scaled = |by: f64| Gpd { scale_ns: gpd.scale_ns * by.exp(), ..gpd };
        let shaped = |by: f64| Gpd { shape: gpd.shape + by, ..gpd };
        let around = [[scaled(STEP), scaled(-STEP)], [shaped(STEP), shaped(-STEP)]];
        let mut grouped = Self { off: vec![], p: vec![], slopes: [vec![], vec![]] };
        let mut from = 0.0;
        let mut observed = 0.0;
        let beyond = |gpd: Gpd, ns: f64| if ns.is_finite() { gpd.survival(ns) } else { 0.0 };
        for cell in &exceedances.cells {
            observed += cell.count;
            let (above, after) = (beyond(gpd, from), beyond(gpd, cell.to));
            let p = above - after;
            let is_last = !cell.to.is_finite();
            let side = (1.0 - above).max(p).min(after);
            let is_wide =
                n * p >= EXPECTED_MIN && p >= SHARE_MIN * side && n * after >= EXPECTED_MIN;
            if !is_last && !is_wide {
                continue;
            }
            grouped.off.push((observed - n * p) / n.sqrt());
            grouped.p.push(p.max(f64::MIN_POSITIVE));
            for (slope, [more, less]) in grouped.slopes.iter_mut().zip(around) {
                let mass = |gpd| beyond(gpd, from) - beyond(gpd, cell.to);
                slope.push((mass(more) - mass(less)) / (2.0 * STEP));
            }
            (from, observed) = (cell.to, 0.0);
        }
        grouped
    }

    /// Σ p·Z² / (H(1 − H)) over the cells, Z the sum of what is off up to and with each.
    fn statistic(&self, off: &[f64]) -> f64 {
        let (mut z, mut h, mut sum) = (0.0, 0.0, 0.0);
        for (off, p) in off.iter().zip(&self.p).take(self.p.len().saturating_sub(1)) {
            z += off;
            h += p;
            sum += p * z * z / (h * (1.0 - h)).max(f64::MIN_POSITIVE);
        }
        sum
    }
}

/// Tests `gpd`, the best fit of `exceedances`, by the Anderson-Darling statistic for grouped data
/// (Choulakian, Lockhart and Stephens, "Cramér-von Mises Statistics for Discrete Distributions",
/// 1994). Its distribution where the parameters are fitted is drawn from the limit: normal counts
/// from which the direction of the sum and of both parameters is projected out (Lockhart, Spinelli
/// and Stephens, 2007). That needs no fit per draw, and is right for bins of any width. The p is a
/// multiple of 1/500.
pub(super) fn fitness(exceedances: &Exceedances, gpd: Gpd, seed: u64) -> Fitness {
    let grouped = Grouped::new(exceedances, gpd);
    let statistic = grouped.statistic(&grouped.off);
    let root: Vec<f64> = grouped.p.iter().map(|p| p.sqrt()).collect();
    let weighed = |slope: &[f64]| slope.iter().zip(&root).map(|(s, r)| s / r).collect();
    let basis =
        orthonormal([root.clone(), weighed(&grouped.slopes[0]), weighed(&grouped.slopes[1])]);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut above = 0;
    let mut off = vec![0.0; root.len()];
    for _ in 0..DRAWS {
        off.fill_with(|| normal(&mut random));
        for vector in &basis {
            let along = dot(&off, vector);
            off.iter_mut().zip(vector).for_each(|(off, v)| *off -= along * v);
        }
        off.iter_mut().zip(&root).for_each(|(off, root)| *off *= root);
        above += usize::from(grouped.statistic(&off) >= statistic);
    }
    Fitness { statistic, p: (above + 1) as f64 / (DRAWS + 1) as f64 }
}

/// The vectors made orthogonal to each other and of length 1 (Gram and Schmidt); those that say
/// nothing new are left out.
fn orthonormal(vectors: [Vec<f64>; 3]) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for mut vector in vectors {
        let length = dot(&vector, &vector).sqrt();
        for known in &basis {
            let along = dot(&vector, known);
            vector.iter_mut().zip(known).for_each(|(v, k)| *v -= along * k);
        }
        let left = dot(&vector, &vector).sqrt();
        if left > 1e-6 * length {
            for v in &mut vector {
                *v /= left;
            }
            basis.push(vector);
        }
    }
    basis
}

fn dot(one: &[f64], two: &[f64]) -> f64 {
    one.iter().zip(two).map(|(one, two)| one * two).sum()
}

/// A number of the normal distribution (Box and Muller, 1958).
fn normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counted;

    /// The share of p up to 0.1 among samples drawn by `draw`.
    fn rejected(draw: impl Fn(&mut fastrand::Rng) -> f64, n: usize, bin_ns: u64) -> f64 {
        const TIMES: u64 = 200;
        let mut random = fastrand::Rng::with_seed(17);
        let small = (0..TIMES).filter(|&seed| {
            let values = (0..n).map(|_| draw(&mut random) as u64 / bin_ns * bin_ns);
            let exceedances = Exceedances::above(&Counted::of_values(values), 0, bin_ns);
            fitness(&exceedances, exceedances.fit().0, seed).p <= 0.1
        });
        small.count() as f64 / TIMES as f64
    }

    #[test]
    fn a_true_fit_is_doubted_as_often_as_said_and_a_false_one_mostly() {
        for (shape, n, bin_ns) in [(0.2, 60, 1_000), (-0.2, 400, 1_000), (0.0, 300, 10)] {
            let gpd = Gpd { scale_ns: 8_000.0, shape };
            let share = rejected(|random| gpd.surpassed_ns((1.0 - random.f64()).ln()), n, bin_ns);
            assert!((0.04..0.17).contains(&share), "{shape}: {share}");
        }
        // Two humps.
        let share = rejected(
            |random| {
                let base = if random.f64() < 0.5 { 0.0 } else { 30_000.0 };
                base - 8_000.0 * (1.0 - random.f64()).ln()
            },
            400,
            1_000,
        );
        assert!(share > 0.9, "{share}");
    }
}
