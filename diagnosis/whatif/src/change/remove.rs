//! `remove(WHOM)`: threads or an interrupt are not there.

use super::{Predicted, Removes, blames, tasks};
use crate::model::Model;
use crate::refusal::Refusal;
use crate::suspects::Suspects;
use std::collections::HashSet;
use std::sync::Arc;
use tardy_changes::{Change, Whom};
use tardy_model::Culprit;
use tardy_model::event::Irq;
use tardy_sim::{Arrival, Cost, Device, NO_THREAD};

/// A victim that they woke more often lives by them.
const VICTIMS_WOKEN_MAX: usize = 20;

pub(super) struct Remove;

impl Predicted for Remove {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        if let Some(Whom::Irq(line)) = change.whom() {
            return super::arrivals(model, *line, |_| false);
        }
        let places = super::places(change, model)?;
        if places.iter().any(|at| model.roles[*at].is_victim) {
            return Err(Refusal::Meaningless("without the victim nothing is late".to_owned()));
        }
        let gone: HashSet<u32> = places.iter().map(|at| *at as u32).collect();
        // Whom they woke is woken by the clock.
        let mut instead: Vec<Arrival> = Vec::new();
        let device = model.system.workload.devices.len() as u32;
        for at in &places {
            let cpu = model.system.workload.threads[*at].first_cpu.unwrap_or(0);
            let kept = model.roles[*at].woke.iter().filter(|(_, woken)| !gone.contains(woken));
            instead.extend(kept.map(|(at_ns, wakes)| Arrival {
                at_ns: at_ns + model.shift_ns,
                cpu,
                device,
                handler_ns: 0,
                softirq_ns: 0,
                wakes: *wakes,
            }));
        }
        let victims = instead.iter().filter(|it| model.roles[it.wakes as usize].is_victim);
        if victims.count() > VICTIMS_WOKEN_MAX {
            return Err(Refusal::Meaningless(
                "they wake the victim, which would wait forever without them".to_owned(),
            ));
        }
        for at in &places {
            model.system.workload.threads[*at].script = Some(Arc::default());
        }
        let devices = &mut model.system.workload.devices;
        devices.push(Device {
            name: "removed".to_owned(),
            cpu: 0,
            every: None,
            handler: Cost::ZERO,
            softirq: None,
        });
        model.lines.push(None);
        let outside = &mut model.system.workload.outside;
        let mut arrivals = outside.arrivals.to_vec();
        for arrival in &mut arrivals {
            if gone.contains(&arrival.wakes) {
                arrival.wakes = NO_THREAD;
            }
        }
        arrivals.extend(instead);
        arrivals.sort_by_key(|arrival| arrival.at_ns);
        outside.arrivals = arrivals.into();
        Ok(())
    }

    fn price(&self) -> &'static str {
        "their work is not done"
    }

    fn removes(&self, change: &Change, model: &Model) -> Option<Removes> {
        if let Some(Whom::Irq(line)) = change.whom() {
            let line = *line;
            return Some(Box::new(
                move |segment| matches!(segment.culprit, Culprit::Irq(Irq::Line(number, _)) if number == line),
            ));
        }
        Some(blames(tasks(model, &super::places(change, model).ok()?)))
    }

    fn candidates(&self, model: &Model, suspects: &Suspects) -> Vec<String> {
        // The kernel's own are there for something.
        let is_program = |name: &&String| {
            model.roles.iter().any(|role| !role.is_kernel && role.called == **name)
        };
        let threads = suspects.changeable().filter(is_program);
        let threads = threads.map(|name| format!("remove({name})"));
        let irqs = suspects.irqs.iter().map(|line| format!("remove(irq {line})"));
        threads.chain(irqs).collect()
    }
}
