//! `affinity(WHOM)=CPUS`: threads, or an interrupt, on these CPUs only.

use super::Predicted;
use crate::model::Model;
use crate::refusal::Refusal;
use crate::suspects::Suspects;
use tardy_changes::{Change, CpuList, Whom};

pub(super) struct Affinity;

/// The CPUs of a list that the machine has, a bit each.
pub(super) fn mask(cpus: &CpuList, model: &Model) -> Result<u64, Refusal> {
    let has = u32::from(model.system.machine.cpus);
    let mask = cpus.iter().filter(|cpu| *cpu < has).fold(0, |mask, cpu| mask | 1 << cpu);
    if mask == 0 {
        return Err(Refusal::Meaningless(format!("the machine has {has} CPUs, and not {cpus}")));
    }
    Ok(mask)
}

impl Predicted for Affinity {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        let cpus = change.cpus().unwrap_or_default();
        let mask = mask(&cpus, model)?;
        if let Some(Whom::Irq(line)) = change.whom() {
            let to = mask.trailing_zeros() as u16;
            return super::arrivals(model, *line, |arrival| {
                arrival.cpu = to;
                true
            });
        }
        let places = super::places(change, model)?;
        let bound = places.iter().filter(|at| model.roles[**at].is_bound_kernel).count();
        if bound == places.len() {
            let why = "the kernel does not let its per-CPU threads move".to_owned();
            return Err(Refusal::Meaningless(why));
        }
        for at in places {
            if !model.roles[at].is_bound_kernel {
                model.system.workload.threads[at].cpus = mask;
            }
        }
        Ok(())
    }

    fn price(&self) -> &'static str {
        "threads on those CPUs share them with one more"
    }

    fn candidates(&self, model: &Model, suspects: &Suspects) -> Vec<String> {
        let Some(others) = suspects.other_cpus(model.system.machine.cpus) else {
            return Vec::new();
        };
        let movable = |name: &&String| {
            model.roles.iter().any(|role| role.called == **name && !role.is_bound_kernel)
        };
        let threads = suspects.changeable().filter(movable);
        let threads = threads.map(|name| format!("affinity({name})={others}"));
        let irqs = suspects.irqs.iter().map(|line| format!("affinity(irq {line})={others}"));
        threads.chain(irqs).collect()
    }
}
