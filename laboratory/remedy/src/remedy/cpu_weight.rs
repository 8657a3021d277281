//! The share of the CPU that a control group gets beside others.

use super::{Lacking, Remedy, of_form};
use crate::place::{Form, Place};
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

/// `cpu.weight` and `cpu.shares` of a group of which nothing was said.
const USUAL: (f64, f64) = (100.0, 1024.0);

pub(super) struct CpuWeight;

impl Remedy for CpuWeight {
    fn name(&self) -> &'static str {
        "cpu-weight"
    }

    fn price(&self) -> &'static str {
        "Other groups beside it get less of the CPU while it wants more."
    }

    fn needs(&self) -> &'static str {
        "root; a control group with the CPU controller"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let weight = change.number().ok_or_else(|| of_form(change))?.clamp(1.0, 10_000.0);
        let groups = system.groups(change.whom(), "cpu")?;
        let (name, to) = if groups.is_v2 {
            ("cpu.weight", weight.round())
        } else {
            ("cpu.shares", (weight / USUAL.0 * USUAL.1).round().max(2.0))
        };
        let path = format!("{}/{name}", groups.folders[0]);
        Ok(vec![Setting { place: Place::File { path, form: Form::Word }, to: to.to_string() }])
    }
}
