//! Sleeps to test with: as in 2021, 54 µs at a slack of 1 ns and 50 µs longer at the default.

use tardy_lab::sleep::{MethodMeasurement, Slack, SleepMeasurement};
use tardy_lab::{Policy, ThreadUsage};
use tardy_stats::Latencies;

pub(crate) fn measurement(slack_ns: u64, rounds: usize) -> SleepMeasurement {
    let methods = vec![
        method("nanosleep", Slack::Thread, 54_000 + slack_ns, rounds, 1),
        method("nanosleep", Slack::OneNs, 54_000, rounds, 2),
        method("clock_nanosleep absolute", Slack::OneNs, 53_950, rounds, 3),
        method("timerfd+read", Slack::Thread, 54_020, rounds, 4),
    ];
    SleepMeasurement {
        request_ns: 50_000,
        rounds: rounds as u64,
        warm_up_rounds: 100,
        interrupted: 0,
        slack_ns,
        least_slack_ns: slack_ns.min(1),
        policy: Policy::Other,
        prio: 0,
        cpu: None,
        seed: 1,
        cpu_clock_ns: 180,
        usage: Some(ThreadUsage { minor_faults: 2, ..ThreadUsage::default() }),
        methods,
        notes: vec!["Memory could not be locked.".to_owned()],
    }
}

/// Mostly within a microsecond, a few in the next four, as the seed's table is.
fn method(
    call: &'static str,
    slack: Slack,
    ns: u64,
    rounds: usize,
    salt: u64,
) -> MethodMeasurement {
    let (mut elapsed, mut cpu) = (Latencies::default(), Latencies::default());
    let mut series = Vec::new();
    let mut micros = std::collections::BTreeMap::new();
    for round in 0..rounds as u64 {
        // A number that looks random and is not.
        let scatter = (round * 2_654_435_761 + salt * 40_503) >> 7;
        let tail = if scatter.is_multiple_of(50) { 1_000 * (1 + scatter % 4) } else { 0 };
        let ns = ns + scatter % 900 + tail;
        elapsed.record(ns);
        cpu.record(2_000 + scatter % 300);
        series.push(ns as u32);
        *micros.entry(ns / 1000).or_insert(0) += 1;
    }
    let micros = micros.into_iter().collect();
    MethodMeasurement { call, summary: "a call", slack, elapsed, micros, cpu, early: 0, series }
}
