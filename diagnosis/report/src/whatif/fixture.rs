//! Predictions to test with: a change that surely helps, one that may, of a thread with a hostile name, one that does
//! nothing, and one that cannot be told.

use super::{Predictions, Shown};
use tardy_whatif::{Baseline, Figures, Moved, Others, Prediction, Refusal, Tried};

/// A name with what a shell or a page could take for its own.
const NAME: &str = "<b>$x&y";

/// Nanoseconds of the recorded figures.
const RECORDED: [f64; 6] = [41_000.0, 38_000.0, 97_000.0, 412_000.0, 230_000.0, 1_900_000.0];

fn figures(all: [f64; 6]) -> Figures {
    Figures {
        n: 9_998,
        mean_ns: all[0],
        p50_ns: all[1],
        p99_ns: all[2],
        p999_ns: all[3],
        worst_percent_ns: all[4],
        max_ns: all[5],
    }
}

pub(super) fn baseline() -> Baseline {
    Baseline {
        recorded: figures(RECORDED),
        left_out: 0,
        waking_is_assumed: false,
        simulated: figures(RECORDED.map(|ns| ns * 1.02)),
        error: [0.02, 0.01, 0.06, 0.2, 0.1, 0.4],
        causes: vec![("stacked_timers".to_owned(), 0.41, 0.4), ("idle_exit".to_owned(), 0.2, 0.2)],
    }
}

/// By what all figures become, and by what factor a range reaches to both sides.
pub(super) fn tried(change: &str, becomes: f64, spread: f64, price: &'static str) -> Tried {
    let moved = RECORDED.map(|ns| Moved {
        recorded_ns: ns,
        predicted_ns: ns * becomes,
        low_ns: ns * becomes / spread,
        high_ns: ns * becomes * spread,
        surer_ns: (ns * becomes / spread / spread, ns * becomes * spread * spread),
        narrow_ns: (ns * becomes, ns * becomes),
    });
    let prediction = Prediction {
        figures: moved,
        apart: None,
        wakeups: figures(RECORDED).n,
        simulated: figures(RECORDED.map(|ns| ns * becomes)),
        others: Some(Others {
            before_ns: 50_000.0,
            after_ns: 51_000.0,
            low: -0.01,
            high: 0.06,
            narrow: (0.01, 0.03),
        }),
        prices: vec![price],
        is_unsure: (becomes - 1.0).abs() < 0.02,
    };
    Tried { changes: vec![change.parse().unwrap()], prediction: Ok(prediction), bound: None }
}

pub(crate) fn with_predictions<R>(test: impl FnOnce(Predictions<'_>) -> R) -> R {
    let baseline = baseline();
    let nobody = Refusal::Nobody("thread or program called pipewire".to_owned());
    let refused = Tried {
        changes: vec!["remove(pipewire)".parse().unwrap()],
        prediction: Err(nobody),
        bound: None,
    };
    let tried = [
        tried("slack(victim)=1ns", 0.2, 1.5, "more interrupts"),
        tried("idle-latency=0us", 0.5, 1.4, "power"),
        tried(&format!("remove({NAME})"), 0.7, 3.0, "what they did is not done"),
        tried("prio(victim)=fifo:80", 0.9, 1.05, "nobody below it has its turn"),
        tried("timers=deferred", 0.99, 1.05, "later sleeps of others"),
        refused,
    ];
    test(Predictions {
        baseline: &baseline,
        apart: None,
        notes: &[],
        tried: &tried,
        shown: Shown::All,
    })
}
