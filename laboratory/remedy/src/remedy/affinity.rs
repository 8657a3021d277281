//! The CPUs on which threads run, or on which an interrupt is handled.

use super::{Lacking, Remedy, of_form};
use crate::place::{Form, Place};
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::{Change, Whom};

pub(super) struct Affinity;

impl Remedy for Affinity {
    fn name(&self) -> &'static str {
        "affinity"
    }

    fn price(&self) -> &'static str {
        "They have fewer CPUs, and share those with the threads already there. Threads created \
            later inherit this."
    }

    fn needs(&self) -> &'static str {
        "root; another CPU; for interrupts, a driver that allows it"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let cpus = change.cpus().ok_or_else(|| of_form(change))?;
        if let Some(online) = system.online()
            && !cpus.without(&online).is_empty()
        {
            return Err(Lacking::new(format!("of CPUs {cpus} only {online} are online")));
        }
        let to = cpus.to_string();
        if let Some(Whom::Irq(number)) = change.whom() {
            return system.file(&format!("/proc/irq/{number}/smp_affinity_list"), Form::Cpus, &to);
        }
        let threads = system.threads(change.whom())?;
        let setting = |thread| Setting { place: Place::Affinity(thread), to: to.clone() };
        Ok(threads.into_iter().map(setting).collect())
    }

    fn kernel_parameter(&self, change: &Change) -> Option<String> {
        // Interrupts have other numbers after a boot; where all begin can be said.
        let is_irq = matches!(change.whom(), Some(Whom::Irq(_)));
        is_irq.then(|| format!("irqaffinity={}", change.word()))
    }
}
