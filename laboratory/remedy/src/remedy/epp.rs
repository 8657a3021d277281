//! What CPUs that choose their frequency by themselves prefer: speed or energy.

use super::{Lacking, Remedy};

use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

pub(super) struct Epp;

impl Remedy for Epp {
    fn name(&self) -> &'static str {
        "epp"
    }

    fn price(&self) -> &'static str {
        "CPUs run faster than they need to: power and heat."
    }

    fn needs(&self) -> &'static str {
        "root; a driver that has the preference (intel_pstate, amd_pstate), and a governor that leaves it free"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let files = ("/sys/devices/system/cpu/cpufreq", "policy", "energy_performance_preference");
        system.each(files, change.word())
    }
}
