//! Quantiles of distributions, read from a table: a draw is one random number and no call of a logarithm.
//!
//! The table is over the probability of the tail, in octaves: from 1/2 to 1/4, from 1/4 to 1/8, and so on down to
//! 2^-64, each in [`PIECES`] pieces of equal width, within which a quantile is a straight line. So a tail is as exact as
//! the middle, however far out, and what most draws read are the few cache lines of the first octaves.
//!
//! A log-normal distribution has a table of its own by its spread alone; what is read is multiplied by the median. All
//! exponential ones share one. All of it is arithmetic that IEEE 754
//! fixes to the bit, and the functions that fill tables are `libm`'s own: the same on any machine.

use std::sync::LazyLock;

/// The pieces of an octave, as a power of 2.
const PIECES_LOG2: u32 = 5;
const PIECES: usize = 1 << PIECES_LOG2;

/// Octaves: as many as a random number has bits.
const OCTAVES: usize = 64;

/// How many ends pieces have.
const ENDS: usize = OCTAVES * PIECES + 1;

/// Ends of pieces, from the smallest probability on; the last is the whole of it.
type Ends = [f64; ENDS];

/// Of the standard normal distribution, above its middle; the whole of it is 1/2.
static NORMAL: LazyLock<Box<Ends>> = LazyLock::new(normal_ends);

/// Of the exponential distribution of mean 1.
static EXPONENTIAL: LazyLock<Box<Ends>> = LazyLock::new(|| ends(|share| -libm::log(share)));

/// The log-normal distribution of median 1 and one spread.
#[derive(Debug, PartialEq)]
pub(crate) struct LogNormal {
    /// The ends above the median, and those below.
    halves: [Box<Ends>; 2],
}

impl LogNormal {
    /// That of a standard deviation of the logarithm.
    pub(crate) fn new(sigma: f64) -> Self {
        let half = |sigma: f64| filled(NORMAL.iter().map(|above| exp(sigma * above)).collect());
        Self { halves: [half(sigma), half(-sigma)] }
    }

    /// Its value for a random number.
    #[inline]
    pub(crate) fn value(&self, random: u64) -> f64 {
        // The top bit says on which side.
        read(&self.halves[usize::from(random >> 63 == 1)], random << 1 | 1)
    }
}

/// The same without a table, and to the bit: a tenth as fast.
pub(crate) fn log_normal(sigma: f64, random: u64) -> f64 {
    let sigma = if random >> 63 == 1 { -sigma } else { sigma };
    let Read { at, along } = Read::of(random << 1 | 1);
    between(exp(sigma * NORMAL[at]), exp(sigma * NORMAL[at + 1]), along)
}

/// The exponential distribution's value for a random number, of mean 1.
#[inline]
pub(crate) fn exponential(random: u64) -> f64 {
    read(&EXPONENTIAL, random | 1)
}

/// e to that power, for powers up to ±700; one part in 5 million off at most.
fn exp(power: f64) -> f64 {
    /// Numbers to which this is added are whole, and stand in the lowest bits.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    let twos = power * std::f64::consts::LOG2_E;
    let whole = twos + WHOLE;
    // Up to ±1/2. What follows is the Taylor series of 2^x.
    let rest = (twos - (whole - WHOLE)) * std::f64::consts::LN_2;
    let square = rest * rest;
    let low = (1.0 + rest) + square * (1.0 / 2.0 + rest * (1.0 / 6.0));
    let high = (1.0 / 24.0 + rest * (1.0 / 120.0)) + square * (1.0 / 720.0);
    let of_rest = low + square * square * high;
    // The power of 2 goes to the exponent.
    f64::from_bits(of_rest.to_bits().wrapping_add(whole.to_bits() << 52))
}

/// What a table says of a share of 2^64, which is not 0.
#[inline]
fn read(table: &Ends, share: u64) -> f64 {
    let Read { at, along } = Read::of(share);
    between(table[at], table[at + 1], along)
}

#[inline]
fn between(from: f64, to: f64, along: f64) -> f64 {
    from + (to - from) * along
}

/// Where a table is read: between an end and the next one.
struct Read {
    at: usize,
    along: f64,
}

impl Read {
    #[inline]
    fn of(share: u64) -> Self {
        let zeros = share.leading_zeros();
        // Without its first bit, which the octave stands for.
        let digits = share << zeros << 1;
        let piece = (digits >> (64 - PIECES_LOG2)) as usize;
        // To 52 bits, as a number from 1 to 2.
        let along = f64::from_bits(digits << PIECES_LOG2 >> 12 | 1023 << 52) - 1.0;
        Self { at: (OCTAVES - 1 - zeros as usize) * PIECES + piece, along }
    }
}

fn filled(ends: Vec<f64>) -> Box<Ends> {
    ends.into_boxed_slice().try_into().expect("as many as there are ends of pieces")
}

/// A table of a distribution by the quantile of a share of its whole.
fn ends(mut quantile: impl FnMut(f64) -> f64) -> Box<Ends> {
    let mut ends = filled(vec![0.0; ENDS]);
    for (at, end) in ends.iter_mut().enumerate().rev() {
        let (octave, piece) = (at / PIECES, at % PIECES);
        let share = (1.0 + piece as f64 / PIECES as f64) * libm::exp2(octave as f64 - 64.0);
        *end = quantile(share);
    }
    ends
}

/// From the middle outwards, each by Newton's method from the one before, on the logarithm of the tail, which is nearly a
/// parabola.
fn normal_ends() -> Box<Ends> {
    let mut above = 0.0;
    ends(|share| {
        let share = share / 2.0;
        for _ in 0..8 {
            let tail = libm::erfc(above * std::f64::consts::FRAC_1_SQRT_2) / 2.0;
            let density = libm::exp(-above * above / 2.0) / libm::sqrt(std::f64::consts::TAU);
            above += libm::log(tail / share) * tail / density;
        }
        above
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The random number that leaves such a tail.
    fn at(share: f64) -> u64 {
        (share * 2f64.powi(64)) as u64
    }

    /// The standard normal distribution, of which the logarithm of a log-normal number is one.
    fn normal(table: &LogNormal, random: u64) -> f64 {
        libm::log(table.value(random))
    }

    fn tail_of_normal(value: f64) -> f64 {
        libm::erfc(value * std::f64::consts::FRAC_1_SQRT_2) / 2.0
    }

    /// Below these octaves the last bit of a random number, which is always 1, is too much of it.
    const OCTAVES_SEEN: u32 = 48;

    /// Every piece at eight places, and its share of the whole.
    fn everywhere() -> impl Iterator<Item = (u64, f64)> {
        (0..OCTAVES_SEEN).flat_map(|zeros| {
            (0..PIECES as u64 * 8).map(move |place| {
                let digits = (2 * place + 1) << (64 - 4 - PIECES_LOG2);
                let share = (1 << 63 | digits >> 1) >> zeros;
                (share, libm::exp2(-f64::from(zeros) - 1.0) / (PIECES * 8) as f64)
            })
        })
    }

    #[test]
    fn a_table_is_nowhere_far_from_the_distribution() {
        let (mut apart, table): (f64, _) = (0.0, LogNormal::new(1.0));
        for (share, _) in everywhere() {
            let exact = share as f64 / 2f64.powi(64);
            let told = libm::exp(-exponential(share));
            apart = apart.max((told - exact).abs());
            assert!((told / exact - 1.0).abs() < 2e-4, "{exact:e}: {told:e}");
            let told = tail_of_normal(normal(&table, share >> 1)) * 2.0;
            apart = apart.max((told - exact).abs());
            assert!((told / exact - 1.0).abs() < 2e-4, "{exact:e}: {told:e}");
        }
        // The distance of Kolmogorov and Smirnov: that of as many draws as would show it, some 10^8.
        assert!(apart < 1e-4, "{apart:e}");
    }

    #[test]
    fn means_and_quantiles_are_those_of_the_formulas() {
        for sigma in [0.0, 0.1, 0.2116, 0.5, 1.2, 2.0] {
            let (mut mean, table) = (0.0, LogNormal::new(sigma));
            for (share, weight) in everywhere() {
                mean +=
                    weight * (table.value(share >> 1) + table.value(share >> 1 | 1 << 63)) / 2.0;
            }
            let expected: f64 = libm::exp(sigma * sigma / 2.0);
            assert!((mean / expected - 1.0).abs() < 1e-3, "{sigma}: {mean}, not {expected}");
        }
        let mean: f64 = everywhere().map(|(share, weight)| weight * exponential(share)).sum();
        assert!((mean - 1.0).abs() < 1e-3, "{mean}");
        let table = LogNormal::new(0.2116);
        for tail in [0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7] {
            let exact = -libm::log(tail);
            assert!((exponential(at(tail)) / exact - 1.0).abs() < 1e-3, "{tail}");
            let told = tail_of_normal(normal(&table, at(tail.min(0.499_999))) / 0.2116);
            assert!((told / tail - 1.0).abs() < 1e-3, "{tail}: {told}");
        }
    }

    #[test]
    fn a_number_is_above_the_median_as_often_as_below() {
        let table = LogNormal::new(0.5);
        assert!(
            (0..1000_u64).map(|it| it.wrapping_mul(0x9e37_79b9_7f4a_7c15)).all(|random| {
                table.value(random).to_bits() == log_normal(0.5, random).to_bits()
            })
        );
        for random in [1, 77, 1 << 20, 1 << 62, (1 << 63) - 1] {
            let product = table.value(random) * table.value(random | 1 << 63);
            assert!((product - 1.0).abs() < 1e-3, "{random}: {product}");
        }
        assert!(normal(&table, 0) > 8.5 * 0.5 && normal(&table, (1 << 63) - 1) < 1e-3);
    }

    #[test]
    fn a_power_of_e_is_that() {
        for at in -7_000..=7_000 {
            let power = f64::from(at) / 10.0;
            assert!((exp(power) / libm::exp(power) - 1.0).abs() < 2e-7, "{power}");
        }
    }
}
