//! `tardy.measure/1`.

use super::autocorrelation::AutocorrelationDocument;
use super::cost::{OwnCostDocument, UsageDocument};
use super::figures::FiguresDocument;
use super::quantiles::QuantileDocument;
use super::tail::TailDocument;
use crate::confidence::Distribution;
use serde::Serialize;
use tardy_lab::{BoundBroken, Measurement, ThreadMeasurement};

/// A measurement: `measure --json`.
#[derive(Debug, Serialize)]
pub struct MeasureDocument<'a> {
    schema: &'static str,
    /// One per measuring thread.
    pub threads: Vec<ThreadDocument<'a>>,
    /// The bound that was exceeded, or `null`.
    pub broken_by: Option<BrokenDocument<'a>>,
    /// What the permissions did not allow.
    pub notes: &'a [String],
}

/// One measuring thread.
#[derive(Debug, Serialize)]
pub struct ThreadDocument<'a> {
    name: &'a str,
    pid: u32,
    policy: &'static str,
    prio: u8,
    cpu: Option<u16>,
    interval_ns: u64,
    samples: u64,
    #[serde(flatten)]
    figures: FiguresDocument,
    overruns: u64,
    autocorrelation: Option<AutocorrelationDocument>,
    usage: Option<UsageDocument>,
    own_cost_ns: Option<OwnCostDocument>,
    quantiles: Vec<QuantileDocument>,
    tail: TailDocument,
}

/// A latency above the bound.
#[derive(Debug, Serialize)]
pub struct BrokenDocument<'a> {
    thread: &'a str,
    latency_ns: u64,
    expiry_ns: u64,
}

impl<'a> From<&'a Measurement> for MeasureDocument<'a> {
    fn from(measurement: &'a Measurement) -> Self {
        Self {
            schema: "tardy.measure/1",
            threads: measurement.threads.iter().map(ThreadDocument::from).collect(),
            broken_by: measurement.broken_by.as_ref().map(BrokenDocument::from),
            notes: &measurement.notes,
        }
    }
}

impl<'a> From<&'a ThreadMeasurement> for ThreadDocument<'a> {
    fn from(thread: &'a ThreadMeasurement) -> Self {
        let latencies = &thread.latencies;
        let dependence = thread.blocking.dependence();
        let distribution = Distribution::of_latencies(latencies, dependence);
        Self {
            name: &thread.name,
            pid: thread.pid,
            policy: thread.policy.name(),
            prio: thread.prio,
            cpu: thread.cpu,
            interval_ns: thread.interval_ns,
            samples: latencies.count(),
            figures: FiguresDocument::from(latencies),
            overruns: thread.overruns,
            autocorrelation: dependence.map(AutocorrelationDocument::from),
            usage: thread.usage.map(UsageDocument::from),
            own_cost_ns: thread.own_cost.map(OwnCostDocument::from),
            quantiles: QuantileDocument::all(&distribution),
            tail: TailDocument::new(&distribution),
        }
    }
}

impl<'a> From<&'a BoundBroken> for BrokenDocument<'a> {
    fn from(broken: &'a BoundBroken) -> Self {
        Self { thread: &broken.thread, latency_ns: broken.latency_ns, expiry_ns: broken.expiry_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn measure_document() {
        let measurement = fixture::measurement();
        let document = MeasureDocument::from(&measurement);
        insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
    }

    #[test]
    fn a_thread_without_samples_is_all_zero() {
        let mut measurement = fixture::measurement();
        measurement.threads[0].latencies = tardy_stats::Latencies::default();
        let value = serde_json::to_value(MeasureDocument::from(&measurement)).unwrap();
        let thread = &value["threads"][0];
        assert_eq!((thread["samples"].as_u64(), thread["min_ns"].as_u64()), (Some(0), Some(0)));
        assert_eq!(thread["mean_ns"].as_f64(), Some(0.0));
    }
}
