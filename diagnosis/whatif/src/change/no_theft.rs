//! `no-theft`: the hypervisor takes no time.

use super::{Predicted, Removes};
use crate::model::Model;
use crate::refusal::Refusal;
use crate::suspects::Suspects;
use tardy_changes::Change;

pub(super) struct NoTheft;

impl Predicted for NoTheft {
    fn apply(&self, _: &Change, model: &mut Model) -> Result<(), Refusal> {
        *model = model
            .without_thefts()
            .ok_or_else(|| Refusal::Meaningless("no theft was recorded".to_owned()))?;
        Ok(())
    }

    fn price(&self) -> &'static str {
        "dedicated CPUs, from the host's administrator"
    }

    fn removes(&self, _: &Change, _: &Model) -> Option<Removes> {
        Some(Box::new(|segment| segment.cause.0 == "hypervisor"))
    }

    fn candidates(&self, _: &Model, suspects: &Suspects) -> Vec<String> {
        if suspects.has("hypervisor") { vec!["no-theft".to_owned()] } else { Vec::new() }
    }
}
