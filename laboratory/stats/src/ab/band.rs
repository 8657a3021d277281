//! Along which quantiles two sides differ.

/// The quantiles of the band: every hundredth, then ever closer to 1. Those that one of the sides
/// is too small to bound are left out.
pub(super) fn band_quantiles() -> impl Iterator<Item = f64> {
    const TAIL: [f64; 7] = [0.995, 0.998, 0.999, 0.9995, 0.9999, 0.99999, 0.999_999];
    (1..100).map(|percent| f64::from(percent) / 100.0).chain(TAIL)
}
