//! How the frequency of CPUs is chosen.

use super::{Lacking, Remedy};

use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

pub(super) struct Governor;

impl Remedy for Governor {
    fn name(&self) -> &'static str {
        "governor"
    }

    fn price(&self) -> &'static str {
        "CPUs run faster than they need to: power and heat."
    }

    fn needs(&self) -> &'static str {
        "root; cpufreq"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        system
            .each(("/sys/devices/system/cpu/cpufreq", "policy", "scaling_governor"), change.word())
    }
}
