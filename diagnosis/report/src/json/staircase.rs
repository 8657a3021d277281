//! `tardy.measure.staircase/1`.

use super::autocorrelation::AutocorrelationDocument;
use super::cost::{OwnCostDocument, UsageDocument};
use super::figures::FiguresDocument;
use super::measure::BrokenDocument;
use super::quantiles::QuantileDocument;
use super::tail::TailDocument;
use crate::confidence::Distribution;
use crate::staircase::StaircaseRun;
use serde::Serialize;
use tardy_lab::staircase::REPORTED;
use tardy_lab::{Measurement, ThreadMeasurement};

/// Deviations from timelines: `measure staircase --json`.
#[derive(Debug, Serialize)]
pub struct StaircaseDocument<'a> {
    schema: &'static str,
    load: Option<&'a str>,
    duration_ns: u64,
    /// One per thread.
    pub threads: Vec<StepDocument<'a>>,
    broken_by: Option<BrokenDocument<'a>>,
    reported: Vec<ReportedDocument>,
    notes: &'a [String],
}

/// One thread.
#[derive(Debug, Serialize)]
pub struct StepDocument<'a> {
    name: &'a str,
    pid: u32,
    policy: &'static str,
    prio: u8,
    cpu: Option<u16>,
    period_ns: u64,
    points: u64,
    samples: u64,
    missed: u64,
    deviation: FiguresDocument,
    quantiles: Vec<QuantileDocument>,
    tail: TailDocument,
    autocorrelation: Option<AutocorrelationDocument>,
    usage: Option<UsageDocument>,
    own_cost_ns: Option<OwnCostDocument>,
}

#[derive(Debug, Serialize)]
struct ReportedDocument {
    set_up: &'static str,
    max_ns: Vec<u64>,
}

impl<'a> StaircaseDocument<'a> {
    /// The document of a measurement.
    pub fn new(measurement: &'a Measurement, run: StaircaseRun<'a>) -> Self {
        let reported = REPORTED.iter().filter(|_| run.reference).map(|reported| ReportedDocument {
            set_up: reported.set_up,
            max_ns: reported.max_us.map(|us| us * 1000).to_vec(),
        });
        Self {
            schema: "tardy.measure.staircase/1",
            load: run.load,
            duration_ns: run.took.as_nanos() as u64,
            threads: measurement.threads.iter().map(StepDocument::from).collect(),
            broken_by: measurement.broken_by.as_ref().map(BrokenDocument::from),
            reported: reported.collect(),
            notes: &measurement.notes,
        }
    }
}

impl<'a> From<&'a ThreadMeasurement> for StepDocument<'a> {
    fn from(thread: &'a ThreadMeasurement) -> Self {
        let (samples, missed) = (thread.latencies.count(), thread.overruns);
        let dependence = thread.blocking.dependence();
        let distribution = Distribution::of_latencies(&thread.latencies, dependence);
        Self {
            name: &thread.name,
            pid: thread.pid,
            policy: thread.policy.name(),
            prio: thread.prio,
            cpu: thread.cpu,
            period_ns: thread.interval_ns,
            points: samples + missed,
            samples,
            missed,
            deviation: FiguresDocument::from(&thread.latencies),
            quantiles: QuantileDocument::all(&distribution),
            tail: TailDocument::new(&distribution),
            autocorrelation: dependence.map(AutocorrelationDocument::from),
            usage: thread.usage.map(UsageDocument::from),
            own_cost_ns: thread.own_cost.map(OwnCostDocument::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::staircase::fixture::run;

    #[test]
    fn staircase_document() {
        let measurement = fixture::measurement();
        let document = StaircaseDocument::new(&measurement, run());
        insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
    }
}
