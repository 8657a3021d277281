//! On which CPUs kernel threads run that may run anywhere.

use super::{Lacking, Remedy, of_form};
use crate::place::Place;
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

pub(super) struct UnboundKthreads;

impl Remedy for UnboundKthreads {
    fn name(&self) -> &'static str {
        "unbound-kthreads"
    }

    fn price(&self) -> &'static str {
        "The kernel's own work has fewer CPUs."
    }

    fn needs(&self) -> &'static str {
        "root; another CPU"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let to = change.cpus().ok_or_else(|| of_form(change))?.to_string();
        let threads = system.unbound_kernel_threads();
        if threads.is_empty() {
            return Err(Lacking::new("there is no kernel thread without an affinity"));
        }
        let setting = |thread| Setting { place: Place::Affinity(thread), to: to.clone() };
        Ok(threads.into_iter().map(setting).collect())
    }
}
