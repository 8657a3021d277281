//! Distributions of latencies: exact sums, quantiles from a histogram of stated error. No I/O.
#![forbid(unsafe_code)]

mod latencies;

pub use latencies::{Latencies, Quantile};
