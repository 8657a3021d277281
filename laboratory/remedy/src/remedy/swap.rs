//! Whether the memory of a control group is swapped out.

use super::{Lacking, Remedy};
use crate::place::Form;
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

pub(super) struct Swap;

impl Remedy for Swap {
    fn name(&self) -> &'static str {
        "swap"
    }

    fn price(&self) -> &'static str {
        "Memory of others is swapped out instead; if none is left, the kernel kills the group's \
         processes sooner. Memory that is already swapped out stays there until it is touched."
    }

    fn needs(&self) -> &'static str {
        "root; a control group with the memory controller; mlockall in the program does more"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let is_on = change.word() == "on";
        let groups = system.groups(change.whom(), "memory")?;
        let folder = &groups.folders[0];
        if groups.is_v2 {
            let to = if is_on { "max" } else { "0" };
            return system.file(&format!("{folder}/memory.swap.max"), Form::Word, to);
        }
        let usual = system.root().word("proc/sys/vm/swappiness");
        let usual = usual.filter(|_| is_on).unwrap_or_else(|| "0".to_owned());
        system.file(&format!("{folder}/memory.swappiness"), Form::Word, &usual)
    }
}
