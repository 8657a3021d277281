//! `tardy.measure.pi/1`.

use super::figures::FiguresDocument;
use crate::pi::{BoostsSeen, pi_sentences};
use serde::Serialize;
use tardy_lab::pi::{LoadCheck, PiMeasurement};
use tardy_stats::Histogram;
use tardy_stats::Latencies;

/// A measurement of a lock: `measure pi --json`.
#[derive(Debug, Serialize)]
pub struct PiDocument<'a> {
    schema: &'static str,
    protocol: &'static str,
    robust: bool,
    cpu: u16,
    cpus: usize,
    high: ThreadDocument,
    busy: ThreadDocument,
    low: ThreadDocument,
    clock_ns: u64,
    kernel_call_ns: u64,
    locked: LoadDocument,
    free: LoadDocument,
    training_rounds: u64,
    rounds: u64,
    low_rounds: u64,
    to_lock: DistributionDocument,
    jitter: DistributionDocument,
    histogram: Option<HistogramDocument>,
    worst: Option<WorstDocument>,
    shorter: u64,
    slow_calls: u64,
    sleeps: u64,
    long_rounds: u64,
    owners_died: u64,
    throttling: ThrottlingDocument,
    began_ns: u64,
    ended_ns: u64,
    ended: &'static str,
    boosts: Option<BoostsDocument<'a>>,
    /// Why `boosts` is `null`.
    boosts_not_seen: Option<&'a str>,
    verdict: Vec<String>,
    notes: &'a [String],
}

#[derive(Debug, Serialize)]
struct ThreadDocument {
    pid: u32,
    policy: &'static str,
    prio: u8,
}

#[derive(Debug, Serialize)]
struct LoadDocument {
    asked_ns: u64,
    wait_ns: u64,
    samples: u64,
    #[serde(flatten)]
    real: FiguresDocument,
    off: bool,
}

#[derive(Debug, Serialize)]
struct DistributionDocument {
    samples: u64,
    #[serde(flatten)]
    figures: FiguresDocument,
    /// (ns, count) of each class that is not empty.
    classes: Vec<(u64, u64)>,
}

/// Exact bins of whole µs.
#[derive(Debug, Serialize)]
struct HistogramDocument {
    bins: usize,
    to_lock: Vec<(usize, u64)>,
    jitter: Vec<(usize, u64)>,
    to_lock_over: u64,
    jitter_over: u64,
}

#[derive(Debug, Serialize)]
struct WorstDocument {
    number: u64,
    start_ns: u64,
    to_lock_ns: u64,
    jitter_ns: u64,
}

#[derive(Debug, Serialize)]
struct ThrottlingDocument {
    on: Option<bool>,
    hits: u64,
    rt_runtime_us: Option<i64>,
    rt_period_us: Option<u64>,
    fair_server_ns: Option<u64>,
}

/// What was recorded of High's lock calls.
#[derive(Debug, Serialize)]
struct BoostsDocument<'a> {
    calls: u64,
    slept: u64,
    by_boosts: Vec<BoostedDocument>,
    double: u64,
    worst_double: Option<WorstDoubleDocument>,
    touched_by_loss: u64,
    notes: &'a [String],
}

#[derive(Debug, Serialize)]
struct BoostedDocument {
    boosts: u64,
    calls: u64,
}

#[derive(Debug, Serialize)]
struct WorstDoubleDocument {
    start_ns: u64,
    lateness_ns: u64,
}

impl<'a> PiDocument<'a> {
    /// Of a measurement, and of what was recorded of the kernel's part in it, or why that was not.
    pub fn new(m: &'a PiMeasurement, boosts: &'a Result<BoostsSeen, String>) -> Self {
        let thread = |pid, policy: tardy_lab::Policy, prio| {
            let policy = policy.name();
            ThreadDocument { pid, policy, prio }
        };
        Self {
            schema: "tardy.measure.pi/1",
            protocol: m.protocol.name(),
            robust: m.robust,
            cpu: m.cpu,
            cpus: m.cpus,
            high: thread(m.tids.high, tardy_lab::Policy::Fifo, m.prio),
            busy: thread(m.tids.busy, tardy_lab::Policy::Fifo, m.prio - 1),
            low: thread(m.tids.low, m.low_policy, m.low_prio),
            clock_ns: m.clock_ns,
            kernel_call_ns: m.kernel_call_ns,
            locked: LoadDocument::from(&m.locked),
            free: LoadDocument::from(&m.free),
            training_rounds: m.training_rounds,
            rounds: m.jitter.count(),
            low_rounds: m.low_rounds,
            to_lock: DistributionDocument::from(&m.to_lock),
            jitter: DistributionDocument::from(&m.jitter),
            histogram: m.histograms.as_ref().map(HistogramDocument::from),
            worst: m.worst.map(|worst| WorstDocument {
                number: worst.number,
                start_ns: worst.start_ns,
                to_lock_ns: worst.to_lock_ns,
                jitter_ns: worst.jitter_ns,
            }),
            shorter: m.shorter,
            slow_calls: m.slow_calls,
            sleeps: m.sleeps,
            long_rounds: m.long_rounds,
            owners_died: m.owners_died,
            throttling: ThrottlingDocument {
                on: m.throttling.is_on(),
                hits: m.long_rounds_preempted,
                rt_runtime_us: m.throttling.rt_runtime_us,
                rt_period_us: m.throttling.rt_period_us,
                fair_server_ns: m.throttling.fair_server_ns,
            },
            began_ns: m.began_ns,
            ended_ns: m.ended_ns,
            ended: m.ended.name(),
            boosts: boosts.as_ref().ok().map(BoostsDocument::from),
            boosts_not_seen: boosts.as_ref().err().map(String::as_str),
            verdict: pi_sentences(m, boosts),
            notes: &m.notes,
        }
    }
}

impl From<&LoadCheck> for LoadDocument {
    fn from(load: &LoadCheck) -> Self {
        Self {
            asked_ns: load.asked_ns,
            wait_ns: load.wait_ns,
            samples: load.real.count(),
            real: FiguresDocument::from(&load.real),
            off: load.is_off(),
        }
    }
}

impl From<&Latencies> for DistributionDocument {
    fn from(latencies: &Latencies) -> Self {
        Self {
            samples: latencies.count(),
            figures: FiguresDocument::from(latencies),
            classes: latencies.classes().collect(),
        }
    }
}

impl From<&[Histogram; 2]> for HistogramDocument {
    fn from([to_lock, jitter]: &[Histogram; 2]) -> Self {
        let filled = |histogram: &Histogram| {
            let bins = histogram.bins().iter().copied().enumerate();
            bins.filter(|(_, count)| *count > 0).collect()
        };
        Self {
            bins: to_lock.bins().len(),
            to_lock: filled(to_lock),
            jitter: filled(jitter),
            to_lock_over: to_lock.overflows(),
            jitter_over: jitter.overflows(),
        }
    }
}

impl<'a> From<&'a BoostsSeen> for BoostsDocument<'a> {
    fn from(seen: &'a BoostsSeen) -> Self {
        let by_boosts = seen.by_boosts.iter();
        Self {
            calls: seen.calls,
            slept: seen.slept,
            by_boosts: by_boosts
                .map(|&(boosts, calls)| BoostedDocument { boosts, calls })
                .collect(),
            double: seen.double,
            worst_double: seen
                .worst_double
                .map(|(start_ns, lateness_ns)| WorstDoubleDocument { start_ns, lateness_ns }),
            touched_by_loss: seen.touched_by_loss,
            notes: &seen.notes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pi::fixture;

    #[test]
    fn pi_document() {
        let (mut measurement, seen) = (fixture::measurement(), Ok(fixture::seen()));
        let mut histograms = [Histogram::new(3), Histogram::new(3)];
        for (round, ns) in [1_200, 2_100, 2_200, 7_000].into_iter().enumerate() {
            for histogram in &mut histograms {
                histogram.record(ns, 0, round as u64);
            }
        }
        measurement.histograms = Some(histograms);
        let mut value = serde_json::to_value(PiDocument::new(&measurement, &seen)).unwrap();
        // The first classes show the schema.
        for distribution in ["to_lock", "jitter"] {
            value[distribution]["classes"].as_array_mut().unwrap().truncate(2);
        }
        insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
    }

    #[test]
    fn without_a_recording_it_says_why_there_is_none() {
        let (measurement, seen) = (fixture::measurement(), Err("nobody asked".to_owned()));
        let value = serde_json::to_value(PiDocument::new(&measurement, &seen)).unwrap();
        assert!(value["boosts"].is_null() && value["histogram"].is_null());
        assert_eq!(value["boosts_not_seen"], "nobody asked");
    }
}
