//! How often each CPU folds its memory statistics.

use super::{Lacking, Remedy, of_form};
use crate::place::Form;
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

pub(super) struct VmstatInterval;

impl Remedy for VmstatInterval {
    fn name(&self) -> &'static str {
        "vmstat-interval"
    }

    fn price(&self) -> &'static str {
        "Figures of free memory are older by that much."
    }

    fn needs(&self) -> &'static str {
        "root"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let seconds =
            change.time_ns().ok_or_else(|| of_form(change))?.div_ceil(1_000_000_000).max(1);
        system.file("/proc/sys/vm/stat_interval", Form::Word, &seconds.to_string())
    }
}
