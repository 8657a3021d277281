//! Many changes tried, the best first.

use crate::observed::Observed;
use crate::predict::{Bound, NO_THEFT, Prediction, WhatIf};
use crate::refusal::Refusal;
use std::sync::atomic::{AtomicUsize, Ordering};
use tardy_changes::Change;

/// Where p99.9 and the worst 1 % are among the figures.
const P999: usize = 3;
const WORST: usize = 4;

/// One that was tried.
#[derive(Debug)]
pub struct Tried {
    /// The change, or several together.
    pub changes: Vec<Change>,
    /// What it does, or why that cannot be told.
    pub prediction: Result<Prediction, Refusal>,
    /// What it does at best.
    pub bound: Option<Bound>,
}

impl Tried {
    /// As it is written.
    pub fn name(&self) -> String {
        let names: Vec<String> = self.changes.iter().map(Change::to_string).collect();
        names.join(" + ")
    }

    /// As one would say it. Holds names from traces.
    pub fn in_words(&self) -> String {
        let words: Vec<String> = self.changes.iter().map(Change::in_words).collect();
        words.join(" and ")
    }

    /// Whether it changes what a hypervisor takes.
    pub fn is_of_theft(&self) -> bool {
        self.changes.iter().any(|change| change.name() == NO_THEFT)
    }

    /// What it gains: the mean of the shares by which p99.9 and the worst 1 % fall, or the second alone where there are
    /// too few wakeups for the first; negative where they rise. Where
    /// a hypervisor's theft is told apart, the fall is what the change does without it, so that the host's noise
    /// decides nothing; it is a share of the whole all the same, so that less theft can be held against other changes.
    pub fn gain(&self) -> Option<f64> {
        let prediction = self.prediction.as_ref().ok()?;
        let moved = if self.is_of_theft() { &prediction.figures } else { prediction.own() };
        let share = |at: usize| {
            let whole_ns = prediction.figures[at].recorded_ns;
            let fall_ns = moved[at].recorded_ns - moved[at].predicted_ns;
            if whole_ns > 0.0 { fall_ns / whole_ns } else { 0.0 }
        };
        let worst = share(WORST);
        Some(if prediction.tells_p999() { f64::midpoint(share(P999), worst) } else { worst })
    }
}

/// Tries each, on so many threads of this machine; the result is the same for any number. `told` is called with
/// how many are done.
pub fn rank(
    whatif: &WhatIf,
    observed: &Observed,
    changes: &[Vec<Change>],
    jobs: usize,
    told: &(dyn Fn(usize) + Sync),
) -> Vec<Tried> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut tried = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(changes) = changes.get(at) else { return tried };
            let bound = match changes.as_slice() {
                [one] => whatif.bound(observed, one),
                _ => None,
            };
            let prediction = whatif.predict(changes);
            tried.push((at, Tried { changes: changes.clone(), prediction, bound }));
            told(done.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    let mut tried: Vec<(usize, Tried)> = std::thread::scope(|scope| {
        let jobs = jobs.clamp(1, changes.len().max(1));
        let running: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        // A panic goes on to whoever asked.
        let ended = running.into_iter().map(|job| match job.join() {
            Ok(tried) => tried,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.flatten().collect()
    });
    tried.sort_by_key(|(at, _)| *at);
    let mut tried: Vec<Tried> = tried.into_iter().map(|(_, tried)| tried).collect();
    // What cannot be told comes last, in the order in which it was asked.
    let key = |tried: &Tried| tried.gain().unwrap_or(f64::NEG_INFINITY);
    tried.sort_by(|a, b| key(b).total_cmp(&key(a)));
    tried
}
