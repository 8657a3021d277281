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
        system.file("/sys/kernel/mm/transparent_hugepage/enabled", Form::Choice, change.word())
    }
}
