//! Many tests at once: how small a p must be to mean anything.

/// Adjusts the probabilities of a family of tests by Holm's step-down procedure (Holm, "A Simple
/// Sequentially Rejective Multiple Test Procedure", 1979): rejecting all whose adjusted p is below
/// α keeps the chance of even one false rejection below α, whatever depends on what. In the order
/// given; each at least what it was, at most 1.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&one, &two| p[one].total_cmp(&p[two]));
    let mut adjusted = vec![0.0; p.len()];
    let mut most: f64 = 0.0;
    for (rank, &test) in order.iter().enumerate() {
        let factor = (p.len() - rank) as f64;
        // Never below one that had the smaller p.
        most = most.max((p[test] * factor).min(1.0));
        adjusted[test] = most;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::holm;

    #[test]
    fn steps_down_and_never_back_up() {
        // 4 × 0.005, 3 × 0.01, 2 × 0.03, then 0.04 held up by the one before.
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (got, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(holm(&[0.7, 0.9]).iter().all(|&p| (p - 1.0).abs() < 1e-12));
        assert!(holm(&[]).is_empty());
    }
}
