//! `device=TIME`: what programming the clock-event device takes.

use super::Predicted;
use crate::model::Model;
use crate::observed::Programming;
use crate::refusal::Refusal;
use tardy_changes::Change;
use tardy_sim::{Cost, Scripted};

pub(super) struct Device;

impl Predicted for Device {
    /// It is in what calls and interrupts take, and becomes a cost of its own.
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        let Some(Programming { ns, share, irq_exit }) = model.programming.clone() else {
            return Err(Refusal::Unrecorded(
                "how long programming the device takes now: it shows where some sleeps program it and others do not",
            ));
        };
        let machine = &mut model.system.machine;
        machine.irq_exit = irq_exit;
        machine.program = Cost::Constant(change.time_ns().unwrap_or(ns));
        let less_ns = (ns as f64 * share) as u64;
        for thread in &mut model.system.workload.threads {
            let Some(script) = &thread.script else { continue };
            let mut script = script.to_vec();
            for at in 1..script.len() {
                if let Scripted::Sleep(_) | Scripted::SleepUntil(_) = script[at]
                    && let Scripted::Run(run_ns) = &mut script[at - 1]
                {
                    *run_ns = run_ns.saturating_sub(less_ns);
                }
            }
            thread.script = Some(script.into());
        }
        Ok(())
    }

    fn price(&self) -> &'static str {
        "this needs another machine"
    }
}
