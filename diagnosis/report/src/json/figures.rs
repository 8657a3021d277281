//! The figures of one distribution, the same in every document.

use serde::Serialize;
use tardy_stats::Latencies;

/// Nanoseconds; all 0 where there is no sample. The documents that hold it say how many there are.
#[derive(Debug, Serialize)]
pub(super) struct FiguresDocument {
    min_ns: u64,
    mean_ns: f64,
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    p9999_ns: u64,
    max_ns: u64,
}

impl From<&Latencies> for FiguresDocument {
    fn from(latencies: &Latencies) -> Self {
        Self {
            min_ns: latencies.min_ns(),
            mean_ns: latencies.mean_ns(),
            p50_ns: latencies.quantile_ns(0.5),
            p99_ns: latencies.quantile_ns(0.99),
            p999_ns: latencies.quantile_ns(0.999),
            p9999_ns: latencies.quantile_ns(0.9999),
            max_ns: latencies.max_ns(),
        }
    }
}
