//! Far quantiles with their intervals, the same in every document.

use crate::confidence::{Distribution, QuantileInterval};
use serde::Serialize;

/// A quantile and the 95 % interval in which the true one lies. What lies above a file's bins, and an
/// end that too few samples bound, is `null`.
#[derive(Debug, Serialize)]
pub(super) struct QuantileDocument {
    q: f64,
    ns: Option<u64>,
    low_ns: Option<u64>,
    high_ns: Option<u64>,
}

impl QuantileDocument {
    /// p99.9, p99.99 and p99.9999; none where there is no sample.
    pub(super) fn all(distribution: &Distribution) -> Vec<Self> {
        let one = |QuantileInterval { q, ns, low_ns, high_ns }| Self { q, ns, low_ns, high_ns };
        distribution.quantiles().into_iter().map(one).collect()
    }
}
