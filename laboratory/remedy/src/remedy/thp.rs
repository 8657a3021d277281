//! Who gets transparent huge pages, which are zeroed or gathered at a page fault.

use super::{Lacking, Remedy};
use crate::place::Form;
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

pub(super) struct Thp;

impl Remedy for Thp {
    fn name(&self) -> &'static str {
        "thp"
    }

    fn price(&self) -> &'static str {
        "Programs with much memory miss the TLB more often."
    }

    fn needs(&self) -> &'static str {
        "root; CONFIG_TRANSPARENT_HUGEPAGE"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        // Where it gathers huge pages, the kernel keeps more memory free, and does not go back to what it was.
        let mut settings = system.beside("/proc/sys/vm/min_free_kbytes");
        let file = "/sys/kernel/mm/transparent_hugepage/enabled";
        settings.extend(system.file(file, Form::Choice, change.word())?);
        Ok(settings)
    }
}
