//! Does one sample tend to be larger than another? Asked of ranks, so no distribution is assumed.

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
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let Counts { twice_u, tie_term } = count(first, second);
    let (n1, n2) = (first.len() as f64, second.len() as f64);
    let n = n1 + n2;
    let u = twice_u as f64 / 2.0;
    let variance = n1 * n2 / 12.0 * ((n + 1.0) - tie_term / (n * (n - 1.0)));
    let away = u - n1 * n2 / 2.0;
    // All values equal: no variance, no difference.
    let (z, p) = if variance > 0.0 {
        let z = ((away.abs() - 0.5) / variance.sqrt()).max(0.0);
        (z.copysign(away), libm::erfc(z / SQRT_2).min(1.0))
    } else {
        (0.0, 1.0)
    };
    Some(MannWhitney { u, pairs: n1 * n2, z, p, a: u / (n1 * n2) })
}

struct Counts {
    /// Twice the pairs that the first wins: whole, ties being halves.
    twice_u: u128,
    /// Σ(t³ − t) over groups of t equal values.
    tie_term: f64,
}

/// One pass over both, a group of equal values at a time.
fn count(first: &[u32], second: &[u32]) -> Counts {
    let (mut at, mut other) = (0, 0);
    let mut counts = Counts { twice_u: 0, tie_term: 0.0 };
    while at < first.len() || other < second.len() {
        let value = match (first.get(at), second.get(other)) {
            (Some(&one), Some(&two)) => one.min(two),
            (Some(&one), None) => one,
            (None, Some(&two)) => two,
            (None, None) => break,
        };
        let equal = run(&first[at..], value);
        let equal_other = run(&second[other..], value);
        counts.twice_u += equal as u128 * (2 * other + equal_other) as u128;
        let tied = (equal + equal_other) as f64;
        counts.tie_term += tied * (tied * tied - 1.0);
        at += equal;
        other += equal_other;
    }
    counts
}

fn run(values: &[u32], value: u32) -> usize {
    values.iter().take_while(|&&other| other == value).count()
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
}
