//! How often High lent its priority in a lock call, from the events of a recording.

use crate::failure::Failure;
use std::collections::BTreeMap;
use tardy_explain::{Explainer, Named, Options, Sink, Watch};
use tardy_lab::pi::PiMeasurement;
use tardy_model::{Batch, TaskId, Wakeup, WakeupKind};
use tardy_recording::Recording;
use tardy_report::BoostsSeen;
use tardy_stats::Latencies;

/// The pattern's name in the explanation's registry.
const DOUBLE: &str = "double_pi_boost";

/// What a recording tells of the lock calls of `measurement`'s High.
pub(super) fn seen(
    recording: &mut Recording,
    measurement: &PiMeasurement,
) -> Result<BoostsSeen, Failure> {
    let high = measurement.tids.high;
    let watch = Watch { pids: vec![high], ..Watch::default() };
    let calls = Calls::new(TaskId(high), measurement.began_ns, measurement.ended_ns);
    let mut explainer = Explainer::new(Options { watch, ..Options::default() }, calls);
    let mut batch = Batch::default();
    while recording.read(&mut batch)? {
        explainer.batch(&batch);
        batch.clear();
    }
    let (explanation, calls) = explainer.finish();
    let mut seen = calls.finish();
    let double = explanation.patterns.into_iter().find(|pattern| pattern.name == DOUBLE);
    seen.double_words = double.filter(|_| seen.double > 0).map(|pattern| pattern.words);
    seen.notes.clone_from(&recording.manifest().notes);
    if explanation.lost > 0 {
        seen.notes.push(format!(
            "{} events were lost at least: calls are missing, or their boosts; a larger --buffer keeps more.",
            explanation.lost
        ));
    }
    Ok(seen)
}

/// Counts the lock calls of one thread, from an instant to another.
struct Calls {
    high: TaskId,
    from_ns: u64,
    until_ns: u64,
    latencies: Latencies,
    by_boosts: BTreeMap<u64, u64>,
    seen: BoostsSeen,
}

impl Calls {
    fn new(high: TaskId, from_ns: u64, until_ns: u64) -> Self {
        Self {
            high,
            from_ns,
            until_ns,
            latencies: Latencies::default(),
            by_boosts: BTreeMap::new(),
            seen: BoostsSeen::default(),
        }
    }

    fn add(&mut self, wakeup: &Wakeup, is_double: bool) {
        let is_ours = wakeup.task == self.high && wakeup.kind == WakeupKind::Lock;
        if !is_ours || !(self.from_ns..self.until_ns).contains(&wakeup.expiry_ns) {
            return;
        }
        let lent = wakeup.boosts.iter().filter(|boost| !boost.released && boost.by == self.high);
        *self.by_boosts.entry(lent.count() as u64).or_insert(0) += 1;
        self.latencies.record(wakeup.lateness_ns);
        let seen = &mut self.seen;
        seen.calls += 1;
        seen.touched_by_loss += u64::from(wakeup.touched_by_loss);
        if is_double {
            seen.double += 1;
            if seen.worst_double.is_none_or(|(_, ns)| ns < wakeup.lateness_ns) {
                seen.worst_double = Some((wakeup.expiry_ns, wakeup.lateness_ns));
            }
        }
    }

    fn finish(self) -> BoostsSeen {
        let of = &self.latencies;
        let latencies = [("p50", of.quantile_ns(0.5)), ("p99", of.quantile_ns(0.99))];
        let latencies = latencies.into_iter().chain([("max", of.max_ns())]).collect();
        BoostsSeen { latencies, by_boosts: self.by_boosts.into_iter().collect(), ..self.seen }
    }
}

impl Sink for Calls {
    fn wakeup(&mut self, named: &Named<'_>) {
        let is_double = named.patterns().names().any(|name| name == DOUBLE);
        self.add(named.wakeup(), is_double);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::{Boost, CpuId, Prio, TimerId};

    const HIGH: TaskId = TaskId(7);
    const LOW: TaskId = TaskId(9);

    fn call(expiry_ns: u64, lateness_ns: u64, boosts: &[(TaskId, bool)]) -> Wakeup {
        let boost = |&(by, released): &(TaskId, bool)| Boost {
            time_ns: expiry_ns,
            by,
            target: LOW,
            from: Prio::UNKNOWN,
            to: Prio::UNKNOWN,
            released,
            in_unlock: false,
            instead: None,
        };
        Wakeup {
            task: HIGH,
            cpu: CpuId(1),
            prio: Prio::UNKNOWN,
            kind: WakeupKind::Lock,
            timer: TimerId::UNKNOWN,
            expiry_ns,
            lateness_ns,
            to_user: true,
            touched_by_loss: false,
            segments: vec![],
            stretches: vec![],
            boosts: boosts.iter().map(boost).collect(),
            lock: None,
            chain: vec![],
        }
    }

    #[test]
    fn what_counts_are_the_priorities_that_high_lent_while_it_was_measured() {
        let mut calls = Calls::new(HIGH, 100, 200);
        let (lent, given_back, others) = ((HIGH, false), (LOW, true), (LOW, false));
        calls.add(&call(99, 1, &[lent]), false); // before
        calls.add(&call(100, 10, &[]), false);
        calls.add(&call(110, 20, &[lent, given_back]), false);
        calls.add(&call(120, 30, &[lent, others, given_back]), false);
        calls.add(&call(130, 40, &[lent, given_back, lent, given_back]), true);
        calls.add(&call(140, 35, &[lent, given_back, lent, given_back]), true);
        calls.add(&Wakeup { kind: WakeupKind::Task, ..call(150, 5, &[]) }, false);
        calls.add(&Wakeup { task: LOW, ..call(160, 5, &[lent]) }, false);
        calls.add(&call(200, 1, &[lent]), false); // after
        let seen = calls.finish();
        assert_eq!((seen.calls, seen.double, seen.worst_double), (5, 2, Some((130, 40))));
        assert_eq!(seen.by_boosts, [(0, 1), (1, 2), (2, 2)]);
        assert_eq!(seen.latencies[2], ("max", 40));
    }
}
