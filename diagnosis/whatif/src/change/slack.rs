//! `slack(WHOM)=TIME`: the timer slack of threads.

use super::{Predicted, Removes, tasks};
use crate::model::Model;
use crate::refusal::Refusal;
use crate::suspects::Suspects;
use tardy_changes::Change;
use tardy_model::{Culprit, Setting};

pub(super) struct Slack;

impl Predicted for Slack {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        let ns = change.time_ns().unwrap_or(0);
        let places = super::places(change, model)?;
        let mut changed = false;
        for at in places {
            let thread = &mut model.system.workload.threads[at];
            if super::prio::realtime(thread.policy) == 0 {
                changed |= thread.slack_ns != ns;
                thread.slack_ns = ns;
            }
        }
        if changed {
            return Ok(());
        }
        Err(Refusal::Already("those threads are real-time or have that slack already"))
    }

    fn price(&self) -> &'static str {
        "timers fire in more interrupts of their own"
    }

    fn price_of(&self, change: &Change) -> &'static str {
        match change.time_ns() {
            Some(ns) if ns > super::prio::DEFAULT_SLACK_NS => {
                "those threads are woken later, by up to that"
            }
            _ => self.price(),
        }
    }

    fn removes(&self, change: &Change, model: &Model) -> Option<Removes> {
        let victims = tasks(model, &super::places(change, model).ok()?);
        let mut all = model.roles.iter().filter(|role| role.is_victim).peekable();
        let covers = all.peek().is_some() && all.all(|role| victims.contains(&role.task));
        covers.then(|| -> Removes {
            Box::new(|segment| matches!(segment.culprit, Culprit::Setting(Setting::TimerSlack(_))))
        })
    }

    fn candidates(&self, _: &Model, suspects: &Suspects) -> Vec<String> {
        if suspects.has("slack") { vec!["slack(victim)=1ns".to_owned()] } else { Vec::new() }
    }
}
