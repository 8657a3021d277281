//! Whether khugepaged compacts memory, for which it stops all CPUs that use it for a moment.

use super::{Lacking, Remedy, switch};
use crate::place::Form;
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

pub(super) struct Khugepaged;

impl Remedy for Khugepaged {
    fn name(&self) -> &'static str {
        "khugepaged"
    }

    fn price(&self) -> &'static str {
        "Huge pages come more rarely, and only where memory happens to be free."
    }

    fn needs(&self) -> &'static str {
        "root; CONFIG_TRANSPARENT_HUGEPAGE"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let file = "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag";
        system.file(file, Form::Word, switch(change))
    }
}
