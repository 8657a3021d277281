//! Twenty times the same measurement against itself, on this kernel: how often does a comparison see
//! a difference that is not there?

use std::time::Duration;
use tardy_lab::Policy;
use tardy_lab::cyclic::{Plan, prepare};
use tardy_stats::ab::{Basis, Question, Verdict, compare};
use tardy_stats::{Counted, Sample};

/// How often it is compared with itself.
const TIMES: u64 = 20;

/// With a chance of 5 % each, more false alarms than this in 20 come once in 3000 times.
const ALARMS_MAX: u64 = 5;

/// Blocks of each side.
const ROUNDS: usize = 16;

/// 80 wakeups.
const BLOCK: Duration = Duration::from_millis(40);

/// One block; `None` where it does not run in real time.
fn block() -> Option<Counted> {
    let plan = Plan {
        threads: Some(1),
        interval_ns: 500_000,
        duration: Some(BLOCK),
        lock_memory: false,
        ..Plan::default()
    };
    let measurement = prepare(&plan).unwrap().start().finish();
    let thread = &measurement.threads[0];
    (thread.policy == Policy::Fifo).then(|| Counted::from(&thread.latencies))
}

#[test]
fn a_measurement_compared_with_itself_rarely_differs() {
    let mut alarms = 0;
    let mut detectable = vec![];
    for seed in 0..TIMES {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut sides = ["a", "b"].map(|name| Sample {
            name: name.to_owned(),
            blocks: vec![],
            resolution_ns: 1,
        });
        for _ in 0..ROUNDS {
            // Both once a round, in random order: what drifts, drifts for both.
            let first = usize::from(random.bool());
            for side in [first, 1 - first] {
                let Some(block) = block() else {
                    return println!("skipped: SCHED_FIFO is not permitted here");
                };
                sides[side].blocks.push(block);
            }
        }
        let [a, b] = &sides;
        let got = compare(a, b, &Question { seed, ..Question::default() });
        assert_eq!(got.basis, Basis::Blocks);
        match got.verdict {
            Verdict::NoDifferenceShown { detectable_ns } => detectable.push(detectable_ns),
            Verdict::Differ { .. } => alarms += 1,
            // The machine was so restless that nothing could have been seen: no alarm either.
            Verdict::TooFew { why } => println!("{seed}: {why}"),
        }
    }
    detectable.sort_by(f64::total_cmp);
    println!(
        "{alarms} false alarms in {TIMES}; a difference of the medians of {:.0} ns (median) would have \
         been found in four of five",
        detectable.get(detectable.len() / 2).copied().unwrap_or(f64::NAN)
    );
    assert!(alarms <= ALARMS_MAX, "{alarms} false alarms in {TIMES}");
}
