//! `idle-latency=TIME`: idle states that take longer to leave are forbidden.

use super::{Predicted, Removes};
use crate::model::Model;
use crate::refusal::Refusal;
use crate::suspects::Suspects;
use tardy_changes::Change;
use tardy_model::Culprit;
use tardy_sim::{Cost, IdleState};

pub(super) struct IdleLatency;

/// Without a driver the kernel halts its CPUs whatever is asked for (`cpuidle_idle_call` in `kernel/sched/idle.c`).
const NO_DRIVER: &str = "it does not say how long idle states take to leave \
    (/sys/devices/system/cpu/cpu0/cpuidle/state*/latency), and without a cpuidle driver a limit forbids nothing";

/// Whether it was told of a driver whose states may be forbidden.
fn has_driver(model: &Model) -> bool {
    model.idle_states.iter().flatten().any(|latency_ns| *latency_ns > 0)
}

impl Predicted for IdleLatency {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        let limit_ns = change.time_ns().unwrap_or(0);
        if model.system.machine.idle_states.is_empty() {
            return Err(Refusal::Unrecorded("idle states"));
        }
        if !has_driver(model) {
            return Err(Refusal::Meaningless(NO_DRIVER.to_owned()));
        }
        let states = &mut model.system.machine.idle_states;
        let before = states.len();
        states.retain(|state| state.polls || state.latency_ns <= limit_ns);
        if states.len() == before {
            return Err(Refusal::Meaningless("no idle state takes longer".to_owned()));
        }
        if states.is_empty() {
            states.push(IdleState {
                name: "POLL".to_owned(),
                exit: Cost::ZERO,
                after: Vec::new(),
                latency_ns: 0,
                residency_ns: 0,
                polls: true,
            });
        }
        Ok(())
    }

    fn price(&self) -> &'static str {
        "idle CPUs take more power, and turbo has less room"
    }

    fn removes(&self, change: &Change, model: &Model) -> Option<Removes> {
        let limit_ns = change.time_ns().filter(|_| has_driver(model))?;
        let known = model.idle_states.clone();
        Some(Box::new(move |segment| {
            let is_forbidden = |state: u32| {
                let latency_ns = known.get(state as usize).copied().flatten();
                limit_ns == 0 || latency_ns.is_some_and(|latency_ns| latency_ns > limit_ns)
            };
            segment.cause.0 == "idle_exit"
                && match segment.culprit {
                    Culprit::IdleState(state) => is_forbidden(state),
                    _ => limit_ns == 0,
                }
        }))
    }

    fn candidates(&self, model: &Model, suspects: &Suspects) -> Vec<String> {
        if suspects.has("idle_exit") && has_driver(model) {
            vec!["idle-latency=0us".to_owned()]
        } else {
            Vec::new()
        }
    }
}
