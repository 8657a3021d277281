//! How long a guest's CPU polls before it halts and the host has to wake it.

use super::{Lacking, Remedy, of_form};
use crate::place::Form;
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

pub(super) struct HaltPoll;

impl Remedy for HaltPoll {
    fn name(&self) -> &'static str {
        "halt-poll"
    }

    fn price(&self) -> &'static str {
        "A polling CPU uses a CPU of the host: others that share it get less."
    }

    fn needs(&self) -> &'static str {
        "root; a guest with the haltpoll driver"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let ns = change.time_ns().ok_or_else(|| of_form(change))?;
        let folder = "/sys/module/haltpoll/parameters";
        let now: Option<u64> = system.root().number(&format!("{folder}/guest_halt_poll_ns"));
        let start: Option<u64> =
            system.root().number(&format!("{folder}/guest_halt_poll_grow_start"));
        let mut settings =
            system.file(&format!("{folder}/guest_halt_poll_ns"), Form::Word, &ns.to_string())?;
        // It grows from here: beginning beyond the end it would never begin.
        if now.is_some() && start.is_some_and(|start| start > ns) {
            let to = ns.to_string();
            settings.extend(system.file(
                &format!("{folder}/guest_halt_poll_grow_start"),
                Form::Word,
                &to,
            )?);
        }
        Ok(settings)
    }
}
