//! Timer slack: how much later than asked an ordinary thread's sleeps may end.

use super::{Lacking, Remedy, of_form};
use crate::place::Place;
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

pub(super) struct Slack;

impl Remedy for Slack {
    fn name(&self) -> &'static str {
        "slack"
    }

    fn price(&self) -> &'static str {
        "Its timers share fewer interrupts with others': a few more wakeups of the CPU, and their power."
    }

    fn needs(&self) -> &'static str {
        "CAP_SYS_NICE for threads of others; real-time threads have no slack"
    }

    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        // 0 stands for what the thread began with.
        let to = change.time_ns().ok_or_else(|| of_form(change))?.max(1).to_string();
        let threads = system.threads(change.whom())?;
        let has_slack = |place: &Place| {
            let policy = place.thread().map(|thread| Place::Policy(thread.clone()));
            let policy = policy.and_then(|place| place.read(system.root()).ok().flatten());
            !policy.is_some_and(|policy| policy.starts_with("fifo") || policy.starts_with("rr"))
        };
        let places = threads.into_iter().map(Place::Slack).filter(has_slack);
        let settings: Vec<Setting> =
            places.map(|place| Setting { place, to: to.clone() }).collect();
        if settings.is_empty() {
            return Err(Lacking::new("real-time threads have no timer slack"));
        }
        Ok(settings)
    }
}
