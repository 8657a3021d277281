//! `device=TIME`: what programming the clock-event device takes.

use super::Predicted;
use crate::model::Model;
use crate::refusal::Refusal;
use tardy_changes::Change;

pub(super) struct Device;

impl Predicted for Device {
    fn apply(&self, _: &Change, _: &mut Model) -> Result<(), Refusal> {
        // It is in what calls and interrupts take, and no event tells it apart.
        Err(Refusal::Unrecorded("how long programming the device takes now"))
    }

    fn price(&self) -> &'static str {
        "this needs another machine"
    }
}
