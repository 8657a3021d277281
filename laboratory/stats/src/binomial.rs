//! The binomial distribution, exact also for hundreds of millions of trials.
//!
//! Why not a library's: those at hand take the logarithm of the gamma function of n, which at
//! n = 10^8 leaves six digits, and stop their continued fraction after some hundred steps, where
//! it needs √n.

/// The error of Stirling's formula, ln n! − ln(√(2πn)·(n/e)^n), for n = 0 … 15 (n = 0: unused).
const STIRLING_ERROR: [f64; 16] = [
    0.0,
    0.081_061_466_795_327_26,
    0.041_340_695_955_409_3,
    0.027_677_925_684_998_34,
    0.020_790_672_103_765_093,
    0.016_644_691_189_821_193,
    0.013_876_128_823_070_748,
    0.011_896_709_945_891_77,
    0.010_411_265_261_972_096,
    0.009_255_462_182_712_733,
    0.008_330_563_433_362_87,
    0.007_573_675_487_951_841,
    0.006_942_840_107_209_53,
    0.006_408_994_188_004_207,
    0.005_951_370_112_758_848,
    0.005_554_733_551_962_801,
];

/// Steps of the continued fraction; it takes some √n of them, so this is enough for n = 10^13.
const STEPS_MAX: u32 = 10_000_000;

/// The error of Stirling's formula for a whole `n`.
fn stirling_error(n: f64) -> f64 {
    if n < STIRLING_ERROR.len() as f64 {
        return STIRLING_ERROR[n as usize];
    }
    let nn = n * n;
    (1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / nn) / nn) / nn) / nn)
        / n
}

/// x·ln(x/m) + m − x without the cancellation where x is near m.
fn deviance(x: f64, mean: f64) -> f64 {
    if (x - mean).abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() + mean - x;
    }
    let v = (x - mean) / (x + mean);
    let mut sum = (x - mean) * v;
    let mut term = 2.0 * x * v;
    for odd in (3..).step_by(2) {
        term *= v * v;
        let next = sum + term / f64::from(odd);
        if (next - sum).abs() <= 0.0 {
            break;
        }
        sum = next;
    }
    sum
}

/// The chance of `k` successes in `n` trials of chance `p`, 0 < p < 1, after Loader, "Fast and
/// Accurate Computation of Binomial Probabilities", 2000.
fn pmf(k: f64, n: f64, p: f64) -> f64 {
    if k <= 0.0 {
        return (n * (-p).ln_1p()).exp();
    }
    if k >= n {
        return (n * p.ln()).exp();
    }
    let rest = n - k;
    let exponent = stirling_error(n)
        - stirling_error(k)
        - stirling_error(rest)
        - deviance(k, n * p)
        - deviance(rest, n * (1.0 - p));
    exponent.exp() * (n / (std::f64::consts::TAU * k * rest)).sqrt()
}

/// The chance of at most `k` successes in `n` trials of chance `p`.
pub(crate) fn cdf(k: u64, n: u64, p: f64) -> f64 {
    if k >= n || p <= 0.0 {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    // More than k successes: the incomplete beta function `I_p(k + 1, n − k)`.
    let (more, rest) = ((k + 1) as f64, (n - k) as f64);
    let chance = if p < (more + 1.0) / (more + rest + 2.0) {
        1.0 - beta(more, rest, p)
    } else {
        beta(rest, more, 1.0 - p)
    };
    chance.clamp(0.0, 1.0)
}

/// The regularised incomplete beta function `I_x(a, b)` of whole a and b, for x below about a/(a + b),
/// by its continued fraction (NIST Digital Library of Mathematical Functions, 8.17.22; evaluated
/// after Lentz).
fn beta(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let front = pmf(a, a + b, x) * b / (a + b);
    if front < TINY {
        return 0.0;
    }
    let keep = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut above = 1.0;
    let mut below = 1.0 / keep(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = below;
    for step in 1..STEPS_MAX {
        let step = f64::from(step);
        let even = step * (b - step) * x / ((a + 2.0 * step - 1.0) * (a + 2.0 * step));
        below = 1.0 / keep(1.0 + even * below);
        above = keep(1.0 + even / above);
        fraction *= below * above;
        let odd = -(a + step) * (a + b + step) * x / ((a + 2.0 * step) * (a + 2.0 * step + 1.0));
        below = 1.0 / keep(1.0 + odd * below);
        above = keep(1.0 + odd / above);
        fraction *= below * above;
        if (below * above - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

/// The least `k` such that at most `k` successes in `n` trials of chance `p` have a chance of at
/// least `share`.
pub fn quantile(share: f64, n: u64, p: f64) -> u64 {
    if p >= 1.0 || share >= 1.0 {
        return n;
    }
    // 40 standard deviations hold all that a double can tell from 0 or 1; few successes are not
    // normal, and need some more.
    let mean = n as f64 * p;
    let reach = 40.0 * (mean * (1.0 - p)).sqrt() + 800.0;
    let mut low = (mean - reach).max(0.0) as u64;
    let mut high = ((mean + reach) as u64).min(n);
    while low < high {
        let middle = low + (high - low) / 2;
        if cdf(middle, n, p) >= share {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_trials_are_as_counted_by_hand() {
        // Four throws of a coin.
        for (k, of_16) in [(0, 1.0), (1, 5.0), (2, 11.0), (3, 15.0), (4, 16.0)] {
            assert!((cdf(k, 4, 0.5) - of_16 / 16.0).abs() < 1e-14, "{k}");
        }
        assert_eq!([0.05, 0.07, 0.9, 0.99].map(|share| quantile(share, 4, 0.5)), [0, 1, 3, 4]);
        assert_eq!(
            (quantile(0.5, 0, 0.5), quantile(0.5, 7, 0.0), quantile(0.5, 7, 1.0)),
            (0, 0, 7)
        );
    }

    #[test]
    fn the_chances_of_all_numbers_sum_to_one() {
        for p in [1e-6, 0.03, 0.5, 0.999] {
            let sum: f64 = (0..=500).map(|k| pmf(f64::from(k), 500.0, p)).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{p}: {sum}");
            let mut below = 0.0;
            for k in 0..=500 {
                below += pmf(k as f64, 500.0, p);
                assert!((cdf(k, 500, p) - below).abs() < 1e-12, "{k} of {p}");
            }
        }
    }
}
