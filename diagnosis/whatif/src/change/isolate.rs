//! `isolate=CPUS`: nobody but the victims, and what is bound to them, runs there.

use super::{Predicted, affinity};
use crate::model::Model;
use crate::refusal::Refusal;
use crate::suspects::Suspects;
use tardy_changes::Change;

pub(super) struct Isolate;

impl Predicted for Isolate {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        let isolated = affinity::mask(&change.cpus().unwrap_or_default(), model)?;
        let all = model.system.machine.all_cpus();
        if isolated == all {
            return Err(Refusal::Meaningless("no CPU would be left for the others".to_owned()));
        }
        for (role, thread) in model.roles.iter().zip(&mut model.system.workload.threads) {
            if role.is_victim {
                thread.cpus = isolated;
            } else if !role.is_bound_kernel {
                let left = thread.cpus & all & !isolated;
                thread.cpus = if left == 0 { all & !isolated } else { left };
            }
        }
        let to = (all & !isolated).trailing_zeros() as u16;
        let movable: Vec<u32> = model.lines.iter().flatten().copied().collect();
        for line in movable {
            super::arrivals(model, line, |arrival| {
                if isolated >> arrival.cpu & 1 == 1 {
                    arrival.cpu = to;
                }
                true
            })?;
        }
        Ok(())
    }

    fn price(&self) -> &'static str {
        "all other threads share the remaining CPUs"
    }

    fn candidates(&self, model: &Model, suspects: &Suspects) -> Vec<String> {
        match suspects.victims_cpu {
            Some(cpu) if model.system.machine.cpus > 1 => vec![format!("isolate={cpu}")],
            _ => Vec::new(),
        }
    }
}
