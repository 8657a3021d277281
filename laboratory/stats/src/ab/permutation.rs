//! How often chance alone, exchanging blocks between the sides, makes as much of a difference.

/// One test's sums per block, those of A first.
pub(super) struct Rows {
    /// How many values each block has.
    pub(super) counts: Vec<f64>,
    /// The sum of their scores.
    pub(super) sums: Vec<f64>,
    /// How many of the blocks are A's.
    pub(super) a: usize,
    /// Whether block i of A and block i of B ran side by side.
    pub(super) is_paired: bool,
}

/// A difference of two sides' mean scores, B − A, with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Contrast {
    pub(super) difference: f64,
    pub(super) error: f64,
    /// The degrees of freedom of the error.
    pub(super) freedom: f64,
}

/// Two t that differ by less than this share are one, added up in another order.
const ROUNDING: f64 = 1e-9;

impl Contrast {
    /// The difference in errors. A difference without any error is beyond all bounds.
    pub(super) fn t(self) -> f64 {
        if self.error > 0.0 {
            self.difference / self.error
        } else if self.difference == 0.0 {
            0.0
        } else {
            f64::INFINITY.copysign(self.difference)
        }
    }
}

impl Rows {
    /// As the blocks are.
    pub(super) fn contrast(&self) -> Contrast {
        let order: Vec<u32> = (0..self.counts.len() as u32).collect();
        self.of(&order)
    }

    /// The two-sided p of each test of the same blocks, in one series of `times` exchanges: the share
    /// of exchanges, the one observed among them, that differ as much, measured in standard errors.
    ///
    /// Where the blocks of both sides are alike this is exact, however their values depend on each
    /// other within a block and however they are distributed. Dividing by the standard error of each
    /// exchange keeps the level, for many blocks, also where the sides have blocks of different sizes
    /// or spreads and only what is tested is equal (Janssen, "Studentized permutation tests for
    /// non-i.i.d. hypotheses and the generalized Behrens-Fisher problem", 1997; Chung and Romano,
    /// "Exact and asymptotically robust permutation tests", 2013). That the observed one counts, and
    /// so p is never 0: Phipson and Smyth, "Permutation P-values should never be zero", 2010.
    pub(super) fn p(tests: &[Self], times: usize, seed: u64) -> Vec<f64> {
        let Some(first) = tests.first() else { return vec![] };
        let observed: Vec<f64> = tests.iter().map(|rows| rows.contrast().t().abs()).collect();
        let mut reached = vec![1usize; tests.len()];
        let mut random = fastrand::Rng::with_seed(seed);
        let mut order: Vec<u32> = (0..first.counts.len() as u32).collect();
        for _ in 0..times {
            first.exchange(&mut order, &mut random);
            for ((rows, &observed), reached) in tests.iter().zip(&observed).zip(&mut reached) {
                let t = rows.of(&order).t().abs();
                // Where `observed` is infinite, only another infinite one reaches it.
                *reached += usize::from(t >= observed * (1.0 - ROUNDING));
            }
        }
        reached.iter().map(|&reached| reached as f64 / (times + 1) as f64).collect()
    }

    fn exchange(&self, order: &mut [u32], random: &mut fastrand::Rng) {
        if self.is_paired {
            for pair in 0..self.a {
                if random.bool() {
                    order.swap(pair, self.a + pair);
                }
            }
        } else {
            random.shuffle(order);
        }
    }

    /// With the blocks in this order: the first [`Rows::a`] of it are A.
    fn of(&self, order: &[u32]) -> Contrast {
        let (a, b) = order.split_at(self.a);
        let (a, b) = (self.side(a), self.side(b));
        let difference = b.mean - a.mean;
        if self.is_paired {
            let k = self.a as f64;
            let both = order[..self.a].iter().zip(&order[self.a..]);
            let squares: f64 =
                both.map(|(&one, &two)| (self.away(two, b) - self.away(one, a)).powi(2)).sum();
            let error = (k / (k - 1.0) * squares).sqrt();
            return Contrast { difference, error, freedom: k - 1.0 };
        }
        let (variance_a, freedom_a) = self.variance(&order[..self.a], a);
        let (variance_b, freedom_b) = self.variance(&order[self.a..], b);
        let freedom = welch(variance_a, freedom_a, variance_b, freedom_b);
        Contrast { difference, error: (variance_a + variance_b).sqrt(), freedom }
    }

    fn side(&self, blocks: &[u32]) -> SideSums {
        let sum = |of: &[f64]| blocks.iter().map(|&block| of[block as usize]).sum::<f64>();
        let count = sum(&self.counts);
        SideSums { mean: sum(&self.sums) / count, count }
    }

    /// What a block adds to its side's mean beyond its share.
    fn away(&self, block: u32, side: SideSums) -> f64 {
        let block = block as usize;
        (self.sums[block] - side.mean * self.counts[block]) / side.count
    }

    /// The variance of a side's mean, a ratio of two sums over blocks, linearised (Cochran, Sampling
    /// Techniques, 6.4), with its degrees of freedom.
    fn variance(&self, blocks: &[u32], side: SideSums) -> (f64, f64) {
        let k = blocks.len() as f64;
        let squares: f64 = blocks.iter().map(|&block| self.away(block, side).powi(2)).sum();
        (k / (k - 1.0) * squares, k - 1.0)
    }
}

#[derive(Clone, Copy)]
struct SideSums {
    mean: f64,
    count: f64,
}

/// The degrees of freedom of a sum of two variances (Welch, "The generalization of 'Student's'
/// problem when several different population variances are involved", 1947).
pub(super) fn welch(one: f64, one_freedom: f64, two: f64, two_freedom: f64) -> f64 {
    let sum = one + two;
    if sum > 0.0 {
        sum * sum / (one * one / one_freedom + two * two / two_freedom)
    } else {
        one_freedom + two_freedom
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(a: &[f64], b: &[f64], is_paired: bool) -> Rows {
        let sums: Vec<f64> = a.iter().chain(b).copied().collect();
        Rows { counts: vec![1.0; sums.len()], sums, a: a.len(), is_paired }
    }

    #[test]
    fn the_share_of_exchanges_is_near_the_share_of_all_of_them() {
        // Of the 70 ways to choose 4 of 8 only the two that part them completely reach this.
        let rows = [rows(&[1.0, 2.0, 3.0, 4.0], &[15.0, 16.0, 17.0, 18.0], false)];
        let p = Rows::p(&rows, 50_000, 1)[0];
        assert!((p - 2.0 / 70.0).abs() < 0.004, "{p}");
    }

    #[test]
    fn in_pairs_only_signs_change() {
        // All 10 differences positive: 2 of the 1024 ways to choose signs.
        let a: Vec<f64> = (0..10).map(|round| f64::from(round * round * 100)).collect();
        let b: Vec<f64> = a.iter().enumerate().map(|(at, value)| value + 3.0 + at as f64).collect();
        let paired = Rows::p(&[rows(&a, &b, true)], 100_000, 1)[0];
        assert!((paired - 2.0 / 1024.0).abs() < 0.0006, "{paired}");
        let apart = Rows::p(&[rows(&a, &b, false)], 1000, 1)[0];
        assert!(apart > 0.5, "what the rounds share hides it: {apart}");
    }

    #[test]
    fn errors_are_those_of_a_t_test_where_blocks_are_alike() {
        let (a, b) = ([1.0, 5.0, 3.0], [8.0, 8.0, 12.0, 4.0]);
        let got = rows(&a, &b, false).contrast();
        // Variances 4 and 10.67 by n − 1, over 3 and 4.
        let error = (4.0 / 3.0 + 32.0 / 3.0 / 4.0_f64).sqrt();
        assert!((got.error - error).abs() < 1e-12 && (got.difference - 5.0).abs() < 1e-12);
        let equal = rows(&[2.0; 8], &[2.0; 8], false);
        assert!(equal.contrast().t().abs() < f64::EPSILON);
        assert!((Rows::p(&[equal], 99, 1)[0] - 1.0).abs() < f64::EPSILON);
        let apart = rows(&[2.0; 8], &[3.0; 8], false);
        assert!(Rows::p(&[apart], 999, 1)[0] < 0.01, "without any spread, every difference counts");
    }
}
