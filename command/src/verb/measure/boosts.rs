//! How often High lent its priority in a lock call, from the events of a recording.

use crate::failure::Failure;
use std::collections::BTreeMap;
use tardy_explain::{Explainer, Named, Options, Sink, Watch};
use tardy_lab::pi::PiMeasurement;
use tardy_model::event::{Call, Kind, TaskState, futex};
use tardy_model::{Batch, Event, TaskId};
use tardy_recording::Recording;
use tardy_report::BoostsSeen;
use tardy_stats::Latencies;

/// The pattern's name in the explanation's registry.
const DOUBLE: &str = "double_pi_boost";

/// What a recording tells of the lock calls of `measurement`'s High.
pub(in crate::verb) fn seen(
    recording: &mut Recording,
    measurement: &PiMeasurement,
) -> Result<BoostsSeen, Failure> {
    let high = TaskId(measurement.tids.high);
    let window = measurement.began_ns..measurement.ended_ns;
    let watch = Watch { pids: vec![high.0], ..Watch::default() };
    let doubles = Doubles { window: window.clone(), seen: 0, worst: None };
    let mut explainer = Explainer::new(Options { watch, ..Options::default() }, doubles);
    let mut calls = Calls::new(high, window);
    let mut batch = Batch::default();
    while recording.read(&mut batch)? {
        batch.events.iter().for_each(|event| calls.event(event));
        explainer.batch(&batch);
        batch.clear();
    }
    let (explanation, doubles) = explainer.finish();
    let mut seen = calls.finish();
    (seen.double, seen.worst_double) = (doubles.seen, doubles.worst);
    let double = explanation.patterns.into_iter().find(|pattern| pattern.name == DOUBLE);
    seen.double_words = double.filter(|_| seen.double > 0).map(|pattern| pattern.words);
    seen.notes.clone_from(&recording.manifest().notes);
    if explanation.lost > 0 {
        seen.notes.push(format!(
            "At least {} events were lost, so calls or boosts are missing; a larger --buffer \
             loses fewer.",
            explanation.lost
        ));
    }
    Ok(seen)
}

/// The lock calls in which somebody was boosted twice, as the explanation finds them.
struct Doubles {
    window: std::ops::Range<u64>,
    seen: u64,
    worst: Option<(u64, u64)>,
}

impl Sink for Doubles {
    fn wakeup(&mut self, named: &Named<'_>) {
        let wakeup = named.wakeup();
        let is_double = named.patterns().names().any(|name| name == DOUBLE);
        if is_double && self.window.contains(&wakeup.expiry_ns) {
            self.seen += 1;
            if self.worst.is_none_or(|(_, ns)| ns < wakeup.lateness_ns) {
                self.worst = Some((wakeup.expiry_ns, wakeup.lateness_ns));
            }
        }
    }
}

/// A call of High's that has not returned.
#[derive(Clone, Copy, Debug)]
struct Open {
    start_ns: u64,
    boosts: u64,
    slept: bool,
    touched_by_loss: bool,
}

/// Counts the lock calls of one thread, from an instant to another: all that went to the kernel, also
/// those in which it did not sleep, as the kernel spins while the holder runs.
struct Calls {
    high: TaskId,
    window: std::ops::Range<u64>,
    open: Option<Open>,
    latencies: Latencies,
    by_boosts: BTreeMap<u64, u64>,
    seen: BoostsSeen,
}

impl Calls {
    fn new(high: TaskId, window: std::ops::Range<u64>) -> Self {
        Self {
            high,
            window,
            open: None,
            latencies: Latencies::default(),
            by_boosts: BTreeMap::new(),
            seen: BoostsSeen::default(),
        }
    }

    /// Takes the next event; they come in order of time.
    fn event(&mut self, event: &Event) {
        if let Kind::Loss(_) = event.kind() {
            if let Some(open) = &mut self.open {
                open.touched_by_loss = true;
            }
            return;
        }
        if event.task != self.high {
            return;
        }
        match event.kind() {
            Kind::SyscallEnter(call) => {
                let waits = call.call == Call::Futex
                    && matches!(
                        futex::operation(call.op),
                        futex::LOCK_PI | futex::LOCK_PI2 | futex::WAIT | futex::WAIT_BITSET
                    );
                self.open = (waits && self.window.contains(&event.time_ns)).then_some(Open {
                    start_ns: event.time_ns,
                    boosts: 0,
                    slept: false,
                    touched_by_loss: false,
                });
            }
            Kind::SyscallExit(_) => self.close(event.time_ns),
            Kind::Priority(priority) if !priority.released => {
                if let Some(open) = &mut self.open {
                    open.boosts += 1;
                }
            }
            Kind::Switch(switch) if switch.prev_state != TaskState::Running => {
                if let Some(open) = &mut self.open {
                    open.slept = true;
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, time_ns: u64) {
        let Some(open) = self.open.take() else { return };
        *self.by_boosts.entry(open.boosts).or_insert(0) += 1;
        self.latencies.record(time_ns.saturating_sub(open.start_ns));
        self.seen.calls += 1;
        self.seen.slept += u64::from(open.slept);
        self.seen.touched_by_loss += u64::from(open.touched_by_loss);
    }

    fn finish(self) -> BoostsSeen {
        let of = &self.latencies;
        let latencies = [("p50", of.quantile_ns(0.5)), ("p99", of.quantile_ns(0.99))];
        let latencies = latencies.into_iter().chain([("max", of.max_ns())]).collect();
        BoostsSeen { latencies, by_boosts: self.by_boosts.into_iter().collect(), ..self.seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::event::{Priority, Switch, SyscallEnter, SyscallExit};
    use tardy_model::{CpuId, Prio};

    const HIGH: TaskId = TaskId(7);
    const LOW: TaskId = TaskId(9);

    fn enter(op: u16) -> Kind {
        let call = Call::Futex;
        Kind::SyscallEnter(SyscallEnter { call, number: 202, op, value: 0, argument: 4096 })
    }

    fn priority(released: bool) -> Kind {
        Kind::Priority(Priority { target: LOW, old: Prio(120), new: Prio(40), released })
    }

    #[test]
    fn what_counts_are_the_priorities_that_high_lent_while_it_was_measured() {
        let exit = Kind::SyscallExit(SyscallExit { number: 202, result: 0 });
        let sleep = Kind::Switch(Switch {
            prev_state: TaskState::Interruptible,
            prev_prio: Prio(40),
            next: LOW,
            next_prio: Prio(120),
            preempted: false,
        });
        let (lock, unlock) = (enter(futex::LOCK_PI), enter(futex::UNLOCK_PI));
        let (lent, given_back) = (priority(false), priority(true));
        let mut calls = Calls::new(HIGH, 100..200);
        for (time_ns, task, kind) in [
            (90, HIGH, lock), // before
            (95, HIGH, exit),
            (100, HIGH, lock), // spins, and boosts nobody
            (110, HIGH, exit),
            (111, HIGH, lent), // in no call
            (120, HIGH, lock),
            (121, HIGH, lent),
            (122, HIGH, sleep),
            (123, LOW, given_back),
            (124, LOW, lent), // another's
            (125, HIGH, given_back),
            (126, HIGH, lent),
            (150, HIGH, exit),
            (160, HIGH, unlock),
            (161, HIGH, given_back),
            (170, HIGH, exit),
            (200, HIGH, lock), // after
            (210, HIGH, exit),
        ] {
            calls.event(&Event::new(time_ns, CpuId(1), task, kind));
        }
        let seen = calls.finish();
        assert_eq!((seen.calls, seen.slept, seen.touched_by_loss), (2, 1, 0));
        assert_eq!(seen.by_boosts, [(0, 1), (2, 1)]);
        assert_eq!(seen.latencies[2], ("max", 30));
    }
}
