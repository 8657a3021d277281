//! Idle states that take too long to leave.

use super::{Lacking, Remedy, of_form};
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

pub(super) struct IdleLatency;

impl Remedy for IdleLatency {
    fn name(&self) -> &'static str {
        "idle-latency"
    }

    fn price(&self) -> &'static str {
        "Idle CPUs take more power and heat, with 0 as much as busy ones; a guest's take the host's CPUs."
    }

    fn needs(&self) -> &'static str {
        "root; a cpuidle driver"
    }

    /// The limit of each CPU. `/dev/cpu_dma_latency` does the same for all as long as it is open, and could not stay
    /// when this process ends.
    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let us = change.time_ns().ok_or_else(|| of_form(change))? / 1_000;
        let driver = system.root().word("sys/devices/system/cpu/cpuidle/current_driver");
        if driver.is_none_or(|driver| driver == "none") {
            return Err(Lacking::new("there is no cpuidle driver, and so no idle state to choose"));
        }
        // 0 stands for no limit, and this for none at all.
        let to = if us == 0 { "n/a".to_owned() } else { us.to_string() };
        let files = ("/sys/devices/system/cpu", "cpu", "power/pm_qos_resume_latency_us");
        system.each(files, &to)
    }

    fn kernel_parameter(&self, change: &Change) -> Option<String> {
        (change.time_ns() == Some(0)).then(|| "idle=poll".to_owned())
    }
}
