//! Histograms and quantiles of latencies. No I/O.
#![forbid(unsafe_code)]
