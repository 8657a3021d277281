//! `preempt=MODEL`: the kernel's preemption model.

use super::{Predicted, Removes};
use crate::model::Model;
use crate::refusal::Refusal;
use crate::suspects::Suspects;
use tardy_changes::Change;

pub(super) struct Preempt;

impl Predicted for Preempt {
    fn apply(&self, _: &Change, _: &mut Model) -> Result<(), Refusal> {
        Err(Refusal::Unrecorded(
            "when threads are in the kernel, on which this depends: only a bound is possible",
        ))
    }

    fn price(&self) -> &'static str {
        "more switches, a little less throughput"
    }

    fn removes(&self, change: &Change, _: &Model) -> Option<Removes> {
        matches!(change.word(), "full" | "rt")
            .then(|| -> Removes { Box::new(|segment| segment.cause.0 == "not_preemptible") })
    }

    fn candidates(&self, _: &Model, suspects: &Suspects) -> Vec<String> {
        if suspects.has("not_preemptible") { vec!["preempt=full".to_owned()] } else { Vec::new() }
    }
}
