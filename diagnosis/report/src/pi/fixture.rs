//! A measurement of a lock to test with.

use super::BoostsSeen;
use tardy_lab::Policy;
use tardy_lab::pi::{Ended, LoadCheck, LockProtocol, PiMeasurement, Throttling, Tids, WorstRound};
use tardy_stats::Latencies;

fn spread(from: u64, n: u64) -> Latencies {
    let mut latencies = Latencies::default();
    (0..n).for_each(|at| latencies.record(from + at % 97));
    latencies
}

pub(crate) fn measurement() -> PiMeasurement {
    let (mut to_lock, mut jitter) = (spread(60, 99_999), spread(140, 99_999));
    to_lock.record(50_100_000);
    jitter.record(50_100_200);
    let load = |wait_ns| LoadCheck { asked_ns: 1_001, wait_ns, real: spread(960, 1_000) };
    PiMeasurement {
        protocol: LockProtocol::Inherit,
        robust: false,
        cpu: 1,
        cpus: 2,
        prio: 59,
        low_policy: Policy::Other,
        low_prio: 0,
        tids: Tids { high: 7, busy: 8, low: 9 },
        clock_ns: 32,
        kernel_call_ns: 290,
        locked: load(960),
        free: load(961),
        training_rounds: 50,
        to_lock,
        jitter,
        histograms: None,
        worst: Some(WorstRound {
            number: 12_345,
            start_ns: 1_000_000,
            to_lock_ns: 50_100_000,
            jitter_ns: 50_100_200,
        }),
        shorter: 0,
        slow_calls: 1_020,
        sleeps: 12,
        long_rounds: 2,
        long_rounds_preempted: 1,
        owners_died: 0,
        low_rounds: 99_000,
        throttling: Throttling {
            rt_runtime_us: Some(950_000),
            rt_period_us: Some(1_000_000),
            fair_server_ns: None,
        },
        began_ns: 500,
        ended_ns: 300_000_500,
        ended: Ended::Rounds,
        notes: vec!["Memory could not be locked.".to_owned()],
    }
}

pub(crate) fn seen() -> BoostsSeen {
    BoostsSeen {
        calls: 1_000,
        slept: 40,
        latencies: vec![("p50", 5_100), ("p99", 12_000), ("max", 141_000)],
        by_boosts: vec![(0, 100), (1, 897), (2, 3)],
        double: 2,
        double_words: Some("2 of 1000 wakeups: the owner was put back too early.".to_owned()),
        worst_double: Some((1_234_567, 141_000)),
        touched_by_loss: 0,
        notes: vec![],
    }
}
