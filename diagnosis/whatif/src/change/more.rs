//! `more(WHOM)=N`: so many more threads of the same kind.

use super::Predicted;
use crate::model::Model;
use crate::refusal::Refusal;
use tardy_changes::Change;
use tardy_sim::{Entity, Scripted, Stream};

/// The most that are added.
const MORE_MAX: f64 = 4096.0;

/// They begin within so long of each other, ns, so that they do not all do the same at once.
const SPREAD_NS: u64 = 10_000_000;

pub(super) struct More;

impl Predicted for More {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        let number = change.number().unwrap_or(1.0);
        if number > MORE_MAX || number.fract() > 0.0 {
            let why = format!(
                "the number of threads must be whole, and at most {MORE_MAX} can \
                be added"
            );
            return Err(Refusal::Meaningless(why));
        }
        let places = super::places(change, model)?;
        if places.iter().any(|at| model.roles[*at].waits) {
            let why =
                "those threads wait for others, and nothing would wake the new ones".to_owned();
            return Err(Refusal::Meaningless(why));
        }
        for number in 0..number as usize {
            let like = places[number % places.len()];
            let mut stream = Stream::new(number as u64, Entity::Maker, 2);
            let shift_ns = stream.below(SPREAD_NS);
            let mut thread = model.system.workload.threads[like].clone();
            let script = thread.script.iter().flat_map(|script| script.iter());
            // Whom they wait for, and whom they wake, is there once.
            let script = script.filter(|step| !matches!(step, Scripted::Wait | Scripted::Wake(_)));
            // Times of their own grids are shifted too.
            let shifted = script.map(|step| match *step {
                Scripted::SleepUntil(ns) => Scripted::SleepUntil(ns + shift_ns),
                other => other,
            });
            let script = std::iter::once(Scripted::Sleep(shift_ns + 1)).chain(shifted);
            thread.script = Some(script.collect());
            let mut role = model.roles[like].clone();
            (role.is_victim, thread.watched) = (false, false);
            model.system.workload.threads.push(thread);
            model.roles.push(role);
        }
        Ok(())
    }

    fn price(&self) -> &'static str {
        "it is more load"
    }
}
