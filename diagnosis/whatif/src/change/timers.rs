//! `timers=POLICY`: the kernel's timer policy.

use super::Predicted;
use crate::model::Model;
use crate::refusal::Refusal;
use crate::suspects::Suspects;
use tardy_changes::Change;
use tardy_timers::policy::KNOWN;

pub(super) struct Timers;

impl Predicted for Timers {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        let name = change.word();
        if !KNOWN.iter().any(|known| known.name == name) {
            let names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
            let names = names.join(", ");
            return Err(Refusal::Meaningless(format!("there are the timer policies {names}")));
        }
        let kernel = &mut model.system.kernel;
        if kernel.timers == name {
            return Err(Refusal::Meaningless("the kernel does so already".to_owned()));
        }
        name.clone_into(&mut kernel.timers);
        Ok(())
    }

    fn price(&self) -> &'static str {
        "it needs another kernel"
    }

    fn candidates(&self, _: &Model, suspects: &Suspects) -> Vec<String> {
        let stacked = ["stacked_timers", "hrtimer_hang"];
        let is_one = stacked.iter().any(|cause| suspects.has(cause));
        if is_one { vec!["timers=deferred".to_owned()] } else { Vec::new() }
    }
}
