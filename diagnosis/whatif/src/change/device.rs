//! `device=TIME`: what programming the clock-event device takes.

use super::Predicted;
use crate::model::Model;
use crate::refusal::Refusal;
use tardy_changes::Change;
use tardy_sim::Cost;

pub(super) struct Device;

impl Predicted for Device {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        model.system.machine.program = Cost::Constant(change.time_ns().unwrap_or(0));
        Ok(())
    }

    fn price(&self) -> &'static str {
        "this needs another machine"
    }
}
