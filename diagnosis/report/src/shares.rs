//! Shares that add up when shown.

/// Cuts `total` into whole parts in proportion to `weights`, such that the parts sum to exactly
/// `total`: each gets its floor, and what is left goes to the largest remainders (Hamilton's
/// method), the first of equals first. All zero where the weights are.
pub(crate) fn apportion(total: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let scaled = |weight: u64| u128::from(weight) * u128::from(total);
    let mut parts: Vec<u64> = weights.iter().map(|&weight| (scaled(weight) / sum) as u64).collect();
    let left = total - parts.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(scaled(weights[at]) % sum));
    for &at in order.iter().take(left as usize) {
        parts[at] += 1;
    }
    parts
}

/// Tenths of a percent that sum to exactly 1000.
pub(crate) fn tenths(weights: &[u64]) -> Vec<u32> {
    apportion(1000, weights).into_iter().map(|part| part as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn thirds_add_up() {
        assert_eq!(tenths(&[1, 1, 1]), [334, 333, 333]);
        assert_eq!(tenths(&[0, 0]), [0, 0]);
        assert_eq!(tenths(&[]), [0u32; 0]);
    }

    proptest! {
        #[test]
        fn parts_sum_and_are_within_one_of_their_due(
            total in 0u64..100_000,
            weights in proptest::collection::vec(any::<u64>(), 1..40),
        ) {
            let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
            prop_assume!(sum > 0);
            let parts = apportion(total, &weights);
            prop_assert_eq!(parts.iter().sum::<u64>(), total);
            for (&part, &weight) in parts.iter().zip(&weights) {
                let due = weight as f64 * total as f64 / sum as f64;
                prop_assert!((part as f64 - due).abs() < 1.001);
            }
        }
    }
}
