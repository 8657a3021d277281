//! Quantiles of a sample with what they are sure to, in words.

use super::measured::{Measured, us};
use tardy_stats::{Quantile, ab};

/// `54.3 (54.3–54.4)` in µs; `54.3 (54.3–)` where too few bound it above; `–` where there are too few
/// for the quantile to be anything but the maximum.
pub(super) fn with_interval(one: &Measured, q: f64) -> String {
    written(one, q, us)
}

/// The same in whole ns.
pub(super) fn ns_with_interval(one: &Measured, q: f64) -> String {
    written(one, q, |ns| format!("{ns:.0}"))
}

fn written(one: &Measured, q: f64, number: impl Fn(f64) -> String) -> String {
    let Some(Quantile { ns, low_ns, high_ns }) = ab::quantile(&one.sample, q) else {
        return String::new();
    };
    if (1.0 - q) * (one.whole.count() as f64) < 1.0 {
        return "–".to_owned();
    }
    let end = |ns: Option<u64>| ns.map_or_else(String::new, |ns| number(ns as f64));
    format!("{} ({}–{})", number(ns as f64), end(low_ns), end(high_ns))
}
