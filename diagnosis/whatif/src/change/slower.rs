//! `slower(WHOM)=TIMES`: threads or an interrupt do what they do so many times more rarely.

use super::Predicted;
use crate::model::Model;
use crate::refusal::Refusal;
use std::num::NonZeroU64;
use tardy_changes::{Change, Whom};
use tardy_sim::{COST_NS_MAX, Scripted};

pub(super) struct Slower;

impl Predicted for Slower {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        let times = change.number().unwrap_or(1.0);
        if let Some(Whom::Irq(line)) = change.whom() {
            if times < 1.0 {
                let why = "interrupts that never came cannot be replayed more often".to_owned();
                return Err(Refusal::Meaningless(why));
            }
            let mut due = 0.0;
            return super::arrivals(model, *line, |_| {
                due += 1.0 / times;
                let comes = due >= 1.0;
                due -= if comes { 1.0 } else { 0.0 };
                comes
            });
        }
        let places = super::places(change, model)?;
        let mut sleeps = false;
        for at in places {
            let thread = &mut model.system.workload.threads[at];
            let Some(script) = &thread.script else { continue };
            let longer = |ns: u64| ((ns as f64 * times) as u64).min(COST_NS_MAX);
            let script = script.iter().map(|step| match *step {
                Scripted::Sleep(ns) => Scripted::Sleep(longer(ns)),
                Scripted::SleepUntil(ns) => Scripted::SleepUntil(longer(ns)),
                other => other,
            });
            let script: Vec<Scripted> = script.collect();
            sleeps |= script
                .iter()
                .any(|step| matches!(step, Scripted::Sleep(_) | Scripted::SleepUntil(_)));
            thread.script = Some(script.into());
            let again_ns = thread.again_ns.map(|ns| longer(ns.get()));
            thread.again_ns = again_ns.and_then(NonZeroU64::new);
        }
        if sleeps {
            return Ok(());
        }
        Err(Refusal::Meaningless("those threads do not wait for timers of their own".to_owned()))
    }

    fn price(&self) -> &'static str {
        "their work takes longer"
    }
}
