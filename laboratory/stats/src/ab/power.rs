//! How many blocks and values does it take to see a difference?

use super::compare::sane_quantiles;
use super::normal::t_quantile;
use super::prepared::{Prepared, prepare};
use super::score::Score;
use super::{BLOCKS_MIN, Question, Test, VALUES_MIN};
use crate::{Counted, Sample};

/// A difference that one wants to see.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// All values later by so many ns: mean and every quantile move by it.
    Shift {
        /// By how much.
        ns: u64,
    },
    /// Some of the values later, the others as before.
    Late {
        /// Which share of them, 0–1, drawn at random.
        share: f64,
        /// By how much.
        ns: u64,
    },
}

/// What a test needs to see an effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needed {
    /// The test.
    pub test: Test,
    /// How many blocks on each side, as long as the pilot's are on average; `None` where the pilot
    /// has too few to tell how much blocks differ.
    pub blocks: Option<u64>,
    /// How many values on each side.
    pub values: u64,
}

/// More than this many blocks or values are never needed: a century of a value a microsecond.
const MOST: u64 = 1 << 52;

/// Shares are told apart to this many parts where values are weighted by them.
const PARTS: u64 = 1_000_000;

/// What each test of a comparison would need to see `effect` with probability `power` (0.8 is usual),
/// judged by a pilot of one side, soonest first: tests that would never see it are left out. None
/// where the pilot has fewer than [`VALUES_MIN`] values or the effect is none.
///
/// Each is held to the first of Holm's steps for all of the question's tests, so the comparison as a
/// whole finds it sooner. Where the pilot has [`BLOCKS_MIN`] blocks, how much its blocks differ says
/// how much others will; where it has not, values are taken for independent. For a t test of two
/// sides with equal errors: k = 2 (t(1 − α/2) + t(power))² σ² / δ² (Cohen, Statistical Power Analysis
/// for the Behavioral Sciences, 2.4), with δ and σ those of the test's own scores, half of all values
/// being the pilot's and half the pilot's with the effect.
///
/// A pilot of k blocks knows σ to about 1/√(2k) of itself, and k only to twice that.
pub fn needed(pilot: &Sample, effect: Effect, power: f64, question: &Question) -> Vec<Needed> {
    let (side, _, width) = prepare(pilot, pilot);
    let (share, ns) = match effect {
        Effect::Shift { ns } => (1.0, ns),
        Effect::Late { share, ns } => (share.clamp(0.0, 1.0), ns),
    };
    if side.whole.count() < VALUES_MIN || !(share > 0.0 && ns > 0) {
        return vec![];
    }
    let quantiles = sane_quantiles(question);
    let alpha = question.alpha / (quantiles.len() + 2) as f64;
    let mut tests = vec![Test::Mean, Test::Ranks];
    tests.extend(quantiles.into_iter().map(Test::Quantile));
    let plan = Plan { side: &side, share, ns, width, alpha, power };
    let mut needed: Vec<Needed> = tests.into_iter().filter_map(|test| plan.needed(test)).collect();
    needed.sort_by_key(|needed| needed.values);
    needed
}

struct Plan<'a> {
    side: &'a Prepared,
    share: f64,
    ns: u64,
    width: u64,
    alpha: f64,
    power: f64,
}

/// How far a test's scores move, and how far each side's mean score varies from unit to unit.
struct Effects {
    difference: f64,
    /// Of A and of B, per unit: a block or a value.
    variances: f64,
    values_per_unit: f64,
}

impl Plan<'_> {
    fn needed(&self, test: Test) -> Option<Needed> {
        let is_blocks = self.side.blocks.len() >= BLOCKS_MIN;
        let effects = self.effects(test, is_blocks);
        let least = if is_blocks { BLOCKS_MIN as u64 } else { VALUES_MIN };
        let units = least_that(least, |units| self.suffices(test, &effects, units))?;
        let values = (units as f64 * effects.values_per_unit).ceil() as u64;
        Some(Needed { test, blocks: is_blocks.then_some(units), values })
    }

    fn suffices(&self, test: Test, effects: &Effects, units: u64) -> bool {
        let n = units as f64;
        let freedom = 2.0 * n - 2.0;
        let errors = effects.difference.abs() / (effects.variances / n).sqrt();
        let asked = t_quantile(1.0 - self.alpha / 2.0, freedom) + t_quantile(self.power, freedom);
        let is_bounded = match test {
            Test::Quantile(q) => {
                let values = n * effects.values_per_unit;
                let half = t_quantile(0.975, n - 1.0) * (q * (1.0 - q) / values).sqrt();
                q + half + 1.0 / values < 1.0
            }
            Test::Mean | Test::Ranks => true,
        };
        is_bounded && errors >= asked
    }

    fn effects(&self, test: Test, is_blocks: bool) -> Effects {
        let score = Score::new(test, &self.all(), self.width);
        let whole = Sums::new(&self.side.whole, &score, self);
        let n = whole.count;
        let (mean_a, mean_b) = (whole.a / n, whole.b / n);
        let difference = mean_b - mean_a;
        if !is_blocks {
            let variance = |squares: f64, mean: f64| squares / n - mean * mean;
            let variances = variance(whole.a_squares, mean_a) + variance(whole.b_squares, mean_b);
            return Effects { difference, variances, values_per_unit: 1.0 };
        }
        let k = self.side.blocks.len() as f64;
        let size = n / k;
        let blocks = self.side.blocks.iter().map(|block| Sums::new(block, &score, self));
        let squares: f64 = blocks
            .map(|block| {
                let away = |sum: f64, mean: f64| ((sum - mean * block.count) / size).powi(2);
                // Which of a block's values are late is chance besides.
                away(block.a, mean_a) + away(block.b, mean_b) + block.chance / (size * size)
            })
            .sum();
        Effects { difference, variances: squares / (k - 1.0), values_per_unit: size }
    }

    /// Half the pilot, half the pilot with the effect.
    fn all(&self) -> Counted {
        let classes = self.side.whole.classes();
        // Weights that do not overflow what a count holds.
        let parts = PARTS.min(u64::MAX / 4 / self.side.whole.count().max(1)).max(1);
        let late = ((self.share * parts as f64).round() as u64).clamp(1, parts);
        let as_before = classes.iter().map(|&(ns, count)| (ns, count * (2 * parts - late)));
        let moved = classes.iter().map(|&(ns, count)| (ns.saturating_add(self.ns), count * late));
        Counted::new(as_before.chain(moved))
    }
}

/// Sums of the scores of some values: as they are (A), and with the effect (B) on average.
struct Sums {
    count: f64,
    a: f64,
    a_squares: f64,
    b: f64,
    b_squares: f64,
    /// The variance of B's sum that comes from which values are late.
    chance: f64,
}

impl Sums {
    fn new(counted: &Counted, score: &Score, plan: &Plan) -> Self {
        let count = counted.count() as f64;
        let mut sums = Self { count, a: 0.0, a_squares: 0.0, b: 0.0, b_squares: 0.0, chance: 0.0 };
        let share = plan.share;
        for &(ns, count) in counted.classes() {
            let count = count as f64;
            let (before, late) = (score.of(ns), score.of(ns.saturating_add(plan.ns)));
            sums.a += count * before;
            sums.a_squares += count * before * before;
            sums.b += count * ((1.0 - share) * before + share * late);
            sums.b_squares += count * ((1.0 - share) * before * before + share * late * late);
            sums.chance += count * share * (1.0 - share) * (late - before).powi(2);
        }
        sums
    }
}

/// The least number from `least` on that will do, where all larger ones do as well.
fn least_that(least: u64, will_do: impl Fn(u64) -> bool) -> Option<u64> {
    let mut high = least;
    while !will_do(high) {
        high = high.checked_mul(2).filter(|&high| high <= MOST)?;
    }
    let mut low = (high / 2).max(least);
    while low < high {
        let middle = low.midpoint(high);
        if will_do(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_that_will_do_is_found() {
        for wanted in [8, 9, 1000, 123_457] {
            assert_eq!(least_that(8, |n| n >= wanted), Some(wanted));
        }
        assert_eq!(least_that(8, |n| n >= 3), Some(8));
        assert_eq!(least_that(8, |_| false), None);
    }

    #[test]
    fn four_times_the_values_for_half_the_shift() {
        let series: Vec<u64> = (0..5000).map(|at| 8000 + at * 37 % 1001).collect();
        let pilot = Sample::unordered("pilot", Counted::of_values(series), 1);
        let values = |ns| {
            let needed = needed(&pilot, Effect::Shift { ns }, 0.8, &Question::default());
            needed.iter().find(|needed| needed.test == Test::Mean).unwrap().values as f64
        };
        let ratio = values(10) / values(20);
        assert!((ratio - 4.0).abs() < 0.01, "{ratio}");
    }

    #[test]
    fn nothing_is_needed_for_nothing() {
        let pilot = Sample::unordered("pilot", Counted::new([(5, 1000)]), 1);
        let question = Question::default();
        assert!(needed(&pilot, Effect::Shift { ns: 0 }, 0.8, &question).is_empty());
        assert!(needed(&Sample::default(), Effect::Shift { ns: 5 }, 0.8, &question).is_empty());
        // Values that never vary show any shift at once.
        let shift = needed(&pilot, Effect::Shift { ns: 5 }, 0.8, &question);
        assert_eq!(shift[0].values, VALUES_MIN, "{shift:?}");
    }
}
