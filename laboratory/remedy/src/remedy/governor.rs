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
        let folder = "/sys/devices/system/cpu/cpufreq";
        let governors = system.each((folder, "policy", "scaling_governor"), change.word())?;
        // Drivers with preferences change them with the governor.
        let preference = |one: &Setting| {
            let path =
                one.place.path()?.replace("scaling_governor", "energy_performance_preference");
            Some(system.beside(&path))
        };
        let mut settings: Vec<Setting> =
            governors.iter().filter_map(preference).flatten().collect();
        settings.extend(governors);
        Ok(settings)
    }
}
