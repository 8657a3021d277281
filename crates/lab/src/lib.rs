//! Loads and measurements that run on a live system.
#![forbid(unsafe_code)]
