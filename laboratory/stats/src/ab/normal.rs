//! The normal distribution and Student's.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use std::f64::consts::SQRT_2;

/// Above so many degrees of freedom Student's distribution is taken for the normal one: its
/// quantiles differ by less than 10⁻⁴ of themselves up to p = 10⁻⁴.
const FREEDOM_MAX: f64 = 1e5;

/// Probabilities closer to 0 or 1 than this are taken for this: nothing here is known so well.
const P_MIN: f64 = 1e-15;

/// The value that a normal variable does not exceed with probability `p`.
pub(super) fn normal_quantile(p: f64) -> f64 {
    if p.is_nan() {
        return p;
    }
    Normal::standard().inverse_cdf(p.clamp(P_MIN, 1.0 - P_MIN))
}

/// The probability that a normal variable does not exceed `z`.
pub(super) fn normal_below(z: f64) -> f64 {
    libm::erfc(-z / SQRT_2) / 2.0
}

/// The value that a variable of Student's distribution does not exceed with probability `p`.
pub(super) fn t_quantile(p: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(t) if freedom < FREEDOM_MAX && !p.is_nan() => t.inverse_cdf(p.clamp(P_MIN, 1.0 - P_MIN)),
        _ => normal_quantile(p),
    }
}

/// The two-sided probability of a `t` at least as far from 0.
pub(super) fn t_p(t: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        _ if t.is_infinite() => 0.0,
        Ok(student) if freedom < FREEDOM_MAX => (2.0 * student.cdf(-t.abs())).min(1.0),
        _ => libm::erfc(t.abs() / SQRT_2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_quantiles() {
        // From tables, three decimals.
        for (freedom, expected) in [(7.0, 2.365), (14.0, 2.145), (30.0, 2.042), (1e9, 1.960)] {
            let got = t_quantile(0.975, freedom);
            assert!((got - expected).abs() < 6e-4, "{freedom}: {got}");
            assert!((t_p(got, freedom) - 0.05).abs() < 1e-6);
        }
        assert!((normal_quantile(0.8) - 0.8416).abs() < 1e-4);
        assert!((normal_below(-1.959_964) - 0.025).abs() < 1e-7);
    }
}
