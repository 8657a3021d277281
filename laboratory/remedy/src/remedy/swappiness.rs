//! How readily memory of programs is swapped out. What must never be is locked by its program (mlockall).

use super::{Lacking, Remedy, of_form};
use crate::place::Form;
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

pub(super) struct Swappiness;

impl Remedy for Swappiness {
    fn name(&self) -> &'static str {
        "swappiness"
    }

    fn price(&self) -> &'static str {
        "Caches of files are given up sooner."
    }

    fn needs(&self) -> &'static str {
        "root; swap"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let to = change.number().ok_or_else(|| of_form(change))?.round();
        // As the kernel has it, but for 0, with which it kills programs sooner than it swaps.
        if !(1.0..=200.0).contains(&to) {
            return Err(Lacking::new(format!("swappiness is from 1 to 200, and not {to}")));
        }
        system.file("/proc/sys/vm/swappiness", Form::Word, &to.to_string())
    }
}
