//! Distributions of latencies: exact sums, quantiles from a histogram of stated error; and
//! comparisons of samples: ranks ([`mann_whitney`]), several at once ([`holm`]), means of series
//! that depend on time ([`moving_blocks`]). No I/O; random numbers come from a seed.
#![forbid(unsafe_code)]

mod bootstrap;
mod holm;
mod latencies;
mod rank;

pub use bootstrap::{Blocks, Interval, Means, moving_blocks};
pub use holm::holm;
pub use latencies::{Latencies, Quantile};
pub use rank::{MannWhitney, mann_whitney};
