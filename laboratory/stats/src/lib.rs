//! Distributions of latencies: exact sums, quantiles from a histogram of stated error, with the
//! intervals in which they lie ([`Counted::quantile`], [`resampled`]); what neighbours in time share
//! ([`Blocking`]), and how late it may still get ([`tail`]). And comparisons of samples: ranks
//! ([`mann_whitney`]), several at once ([`holm`]), means of series that depend on time
//! ([`moving_blocks`]). No I/O; random numbers come from a seed.
#![forbid(unsafe_code)]

pub mod ab;
mod binomial;
mod bootstrap;
mod counted;
mod dependence;
pub mod histfile;
mod histogram;
mod holm;
mod latencies;
mod quantile;
mod rank;
mod resampled;
mod sample;
pub mod tail;

pub use binomial::quantile as binomial_quantile;
pub use bootstrap::{Blocks, Interval, Means, moving_blocks};
pub use counted::Counted;
pub use dependence::{BlockLevel, Blocking, Dependence, LEVELS};
pub use histogram::{HISTOGRAM_MAX_US, Histogram};
pub use holm::holm;
pub use latencies::Latencies;
pub use quantile::{Quantile, Ranks, quantile_ranks};
pub use rank::{MannWhitney, mann_whitney, mann_whitney_counted};
pub use resampled::{Resampled, resampled};
pub use sample::Sample;
