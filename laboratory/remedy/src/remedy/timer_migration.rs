//! Whether timers of idle CPUs are armed on busy ones.

use super::{Lacking, Remedy, switch};
use crate::place::Form;
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

pub(super) struct TimerMigration;

impl Remedy for TimerMigration {
    fn name(&self) -> &'static str {
        "timer-migration"
    }

    fn price(&self) -> &'static str {
        "Idle CPUs are woken for their own timers, and sleep less deeply."
    }

    fn needs(&self) -> &'static str {
        "root; CONFIG_NO_HZ_COMMON"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        system.file("/proc/sys/kernel/timer_migration", Form::Word, switch(change))
    }
}
