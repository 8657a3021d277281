//! On which CPUs unbound workqueues run.

use super::{Lacking, Remedy, of_form};
use crate::place::Form;
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

pub(super) struct WorkqueueCpus;

impl Remedy for WorkqueueCpus {
    fn name(&self) -> &'static str {
        "workqueue-cpus"
    }

    fn price(&self) -> &'static str {
        "The kernel's deferred work has fewer CPUs."
    }

    fn needs(&self) -> &'static str {
        "root; another CPU"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let to = change.cpus().ok_or_else(|| of_form(change))?.to_string();
        system.file("/sys/devices/virtual/workqueue/cpumask", Form::Mask, &to)
    }
}
