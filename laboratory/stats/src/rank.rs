//! Does one sample tend to be larger than another? Asked of ranks, so no distribution is assumed.

use crate::Counted;
use std::f64::consts::SQRT_2;

/// The Mann-Whitney test of two samples, with the effect's size beside its probability: with many
/// samples the smallest difference has a tiny p, and only the size says whether it matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// How many pairs (one of the first, one of the second) the first wins; a tie counts half.
    pub u: f64,
    /// How many pairs there are.
    pub pairs: f64,
    /// The distance of `u` from what equal distributions would give, in standard deviations:
    /// positive where the first tends to be larger.
    pub z: f64,
    /// Two-sided probability of a `u` at least as far out, were the distributions equal.
    pub p: f64,
    /// Vargha and Delaney's A: the probability that one of the first is larger than one of the
    /// second, ties counting half. 0.5 is no effect.
    pub a: f64,
}

impl MannWhitney {
    /// Cliff's delta, −1 to 1: [`MannWhitney::a`] on a scale where 0 is no effect.
    pub fn cliffs_delta(&self) -> f64 {
        2.0 * self.a - 1.0
    }

    /// The same test with the samples in the other order.
    #[must_use]
    pub fn turned(&self) -> Self {
        Self { u: self.pairs - self.u, z: -self.z, a: 1.0 - self.a, ..*self }
    }
}

/// Compares two samples, each sorted upwards. `None` where one of them is empty.
///
/// The normal approximation with corrections for ties and continuity (Mann and Whitney, "On a Test
/// of Whether one of Two Random Variables is Stochastically Larger than the Other", 1947; ties after
/// Conover, Practical Nonparametric Statistics, 5.1): good from about 20 samples on each side. It
/// assumes independent samples. A after Vargha and Delaney, "A Critique and Improvement of the CL
/// Common Language Effect Size Statistics", 2000.
pub fn mann_whitney(first: &[u32], second: &[u32]) -> Option<MannWhitney> {
    debug_assert!(first.is_sorted() && second.is_sorted());
    let n = (first.len() as u64, second.len() as u64);
    test(n, groups(runs(first), runs(second)))
}

/// [`mann_whitney`] of samples that are distinct values and how often each was seen: hundreds of
/// millions of values cost no more than their distinct ones.
pub fn mann_whitney_counted(first: &Counted, second: &Counted) -> Option<MannWhitney> {
    let n = (first.count(), second.count());
    test(n, groups(first.classes().iter().copied(), second.classes().iter().copied()))
}

/// `equal`: groups of equal values, least first, as how many there are in each sample.
fn test((n1, n2): (u64, u64), equal: impl Iterator<Item = (u64, u64)>) -> Option<MannWhitney> {
    if n1 == 0 || n2 == 0 {
        return None;
    }
    let Counts { twice_u, tie_term } = count(equal);
    let pairs = u128::from(n1) * u128::from(n2);
    // Whole as long as it can be: of 10^16 pairs a float has lost the last ones.
    let away = (twice_u as i128 - pairs as i128) as f64 / 2.0;
    let (u, pairs) = (twice_u as f64 / 2.0, pairs as f64);
    let n = n1 as f64 + n2 as f64;
    let variance = pairs / 12.0 * ((n + 1.0) - tie_term / (n * (n - 1.0)));
    // All values equal: no variance, no difference. Of equal values a float's rounding may leave a
    // trace of one.
    let (z, p) = if variance > pairs * n * f64::EPSILON {
        let z = ((away.abs() - 0.5) / variance.sqrt()).max(0.0);
        (z.copysign(away), libm::erfc(z / SQRT_2).min(1.0))
    } else {
        (0.0, 1.0)
    };
    Some(MannWhitney { u, pairs, z, p, a: u / pairs })
}

struct Counts {
    /// Twice the pairs that the first wins: whole, ties being halves.
    twice_u: u128,
    /// Σ(t³ − t) over groups of t equal values.
    tie_term: f64,
}

fn count(equal: impl Iterator<Item = (u64, u64)>) -> Counts {
    let mut below: u128 = 0;
    let mut counts = Counts { twice_u: 0, tie_term: 0.0 };
    for (one, two) in equal {
        counts.twice_u += u128::from(one) * (2 * below + u128::from(two));
        let tied = one as f64 + two as f64;
        counts.tie_term += tied * (tied * tied - 1.0);
        below += u128::from(two);
    }
    counts
}

/// Walks two ascending lists of (value, how often) as one.
fn groups(
    first: impl Iterator<Item = (u64, u64)>,
    second: impl Iterator<Item = (u64, u64)>,
) -> impl Iterator<Item = (u64, u64)> {
    let (mut first, mut second) = (first.peekable(), second.peekable());
    std::iter::from_fn(move || {
        let value = match (first.peek(), second.peek()) {
            (Some(&(one, _)), Some(&(two, _))) => one.min(two),
            (Some(&(value, _)), None) | (None, Some(&(value, _))) => value,
            (None, None) => return None,
        };
        let one = first.next_if(|&(other, _)| other == value).map_or(0, |(_, count)| count);
        let two = second.next_if(|&(other, _)| other == value).map_or(0, |(_, count)| count);
        Some((one, two))
    })
}

/// Sorted values as (value, how often).
fn runs(values: &[u32]) -> impl Iterator<Item = (u64, u64)> {
    values.chunk_by(|one, two| one == two).map(|run| (u64::from(run[0]), run.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sample_no_test_and_equal_values_no_difference() {
        assert_eq!(mann_whitney(&[], &[1]), None);
        let same = mann_whitney(&[5; 30], &[5; 40]).unwrap();
        assert!((same.p - 1.0).abs() < f64::EPSILON && same.z.abs() < f64::EPSILON);
        assert!((same.a - 0.5).abs() < f64::EPSILON);
    }

    #[test]
    fn who_always_wins_has_all_pairs() {
        let test = mann_whitney(&[10, 11, 12], &[1, 2]).unwrap();
        assert!((test.u - 6.0).abs() < f64::EPSILON && (test.a - 1.0).abs() < f64::EPSILON);
        assert!((test.cliffs_delta() - 1.0).abs() < f64::EPSILON && test.z > 0.0);
        let other = mann_whitney(&[1, 2], &[10, 11, 12]).unwrap();
        assert!(other.u.abs() < f64::EPSILON && other.z < 0.0);
        assert_eq!(test.turned(), other);
    }

    #[test]
    fn hundreds_of_millions_are_counted_to_the_last_pair() {
        // 2·10⁸ against as many, alike but for one value that moved up by a class.
        let n = 100_000_000;
        let first = Counted::new([(10, n - 1), (11, n + 1)]);
        let second = Counted::new([(10, n), (11, n)]);
        let test = mann_whitney_counted(&first, &second).unwrap();
        // By hand: ties half, (n−1)·n/2 + (n+1)·n + (n+1)·n/2 = 2n² + n.
        let n = n as f64;
        assert!((test.u - (2.0 * n * n + n)).abs() < 4.0, "{}", test.u);
        assert!(test.z > 0.0 && test.p > 0.99, "{test:?}");
        let same = Counted::new([(7, 240_000_000)]);
        assert!((mann_whitney_counted(&same, &same).unwrap().p - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn counted_and_single_values_give_one_test() {
        let (first, second) = ([1, 1, 2, 5, 5, 9], [1, 3, 5, 5]);
        let counted = |values: &[u32]| Counted::of_values(values.iter().map(|&ns| u64::from(ns)));
        assert_eq!(
            mann_whitney(&first, &second),
            mann_whitney_counted(&counted(&first), &counted(&second))
        );
    }
}
