//! The detectors of lockups: a timer on each CPU every four seconds, and a counter of cycles.

use super::{Lacking, Remedy, switch};
use crate::place::Form;
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

pub(super) struct Watchdog;

impl Remedy for Watchdog {
    fn name(&self) -> &'static str {
        "watchdog"
    }

    fn price(&self) -> &'static str {
        "A CPU that hangs is no longer reported."
    }

    fn needs(&self) -> &'static str {
        "root; CONFIG_LOCKUP_DETECTOR"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        system.file("/proc/sys/kernel/watchdog", Form::Word, switch(change))
    }
}
