//! Fractions of one denominator as whole numbers that sum to their rounded sum.

/// Rounds `numerators / denominator`, each down or up to a whole number, so that the results sum to the rounded sum
/// of all: those with the largest remainders go up, of equal ones the first. `denominator` is above 0.
pub(super) fn rounded(numerators: &[i128], denominator: i128) -> Vec<i128> {
    let mut whole: Vec<i128> = numerators.iter().map(|of| of.div_euclid(denominator)).collect();
    let sum = nearest(numerators.iter().sum(), denominator);
    // As each is less than one below its fraction, at most as many as have a remainder go up.
    let up = sum - whole.iter().sum::<i128>();
    let mut order: Vec<usize> = (0..numerators.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(numerators[*at].rem_euclid(denominator)));
    for at in order.into_iter().take(up as usize) {
        whole[at] += 1;
    }
    whole
}

/// The nearest whole number, of two the higher.
pub(super) fn nearest(numerator: i128, denominator: i128) -> i128 {
    (2 * numerator + denominator).div_euclid(2 * denominator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_largest_remainders_go_up() {
        assert_eq!(rounded(&[5, 5, 5], 10), [1, 1, 0], "1.5 is nearest to 2");
        assert_eq!(rounded(&[-5, -5, -5], 10), [0, 0, -1], "−1.5 to −1");
        assert_eq!(rounded(&[29, -9, 0], 10), [3, -1, 0]);
        assert_eq!(rounded(&[], 3), [0_i128; 0]);
    }

    proptest! {
        #[test]
        fn they_sum_to_the_rounded_sum_and_none_is_off_by_one(
            numerators in prop::collection::vec(-(1_i128 << 100)..1 << 100, 0..20),
            denominator in 1_i128..1 << 60,
        ) {
            let whole = rounded(&numerators, denominator);
            prop_assert_eq!(whole.iter().sum::<i128>(), nearest(numerators.iter().sum(), denominator));
            for (whole, numerator) in whole.iter().zip(&numerators) {
                prop_assert!((whole * denominator - numerator).abs() < denominator);
            }
        }
    }
}
