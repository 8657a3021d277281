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
use tardy_sim::{NO_THREAD, Scripted};

pub(super) struct Remove;

impl Predicted for Remove {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        if let Some(Whom::Irq(line)) = change.whom() {
            return super::arrivals(model, *line, |_| false);
        }
        let places = super::places(change, model)?;
        if places.iter().any(|at| model.roles[*at].is_victim) {
            return Err(Refusal::Meaningless("without the victim nobody is late".to_owned()));
        }
        let gone: HashSet<usize> = places.iter().copied().collect();
        let threads = &mut model.system.workload.threads;
        for at in &places {
            let script = threads[*at].script.iter().flat_map(|script| script.iter());
            let mut woken = script.filter_map(|step| match step {
                Scripted::Wake(woken) => Some(*woken as usize),
                _ => None,
            });
            if let Some(victim) = woken.find(|woken| model.roles[*woken].is_victim) {
                return Err(Refusal::Meaningless(format!(
                    "{} wakes {}, which would sleep for ever without it",
                    model.roles[*at].name, model.roles[victim].name
                )));
            }
        }
        for at in places {
            threads[at].script = Some(Arc::default());
        }
        let outside = &mut model.system.workload.outside;
        let mut arrivals = outside.arrivals.to_vec();
        for arrival in &mut arrivals {
            if arrival.wakes != NO_THREAD && gone.contains(&(arrival.wakes as usize)) {
                arrival.wakes = NO_THREAD;
            }
        }
        outside.arrivals = arrivals.into();
        Ok(())
    }

    fn price(&self) -> &'static str {
        "what they did is not done"
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

    fn candidates(&self, _: &Model, suspects: &Suspects) -> Vec<String> {
        let threads = suspects.threads.iter().map(|name| format!("remove({name})"));
        let irqs = suspects.irqs.iter().map(|line| format!("remove(irq {line})"));
        threads.chain(irqs).collect()
    }
}
