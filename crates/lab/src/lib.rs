//! Loads and measurements that run on a live system.
#![forbid(unsafe_code)]

mod measurement;

pub use measurement::{BoundBroken, Measurement, Policy, ThreadMeasurement};
