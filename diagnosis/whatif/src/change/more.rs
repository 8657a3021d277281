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

/// Turns a script so that it begins somewhere in its middle: threads that did the same rare things with a fixed
/// distance would meet each time, or never.
fn begin_elsewhere(script: &mut [Scripted], again_ns: u64, stream: &mut Stream) {
    if script.is_empty() {
        return;
    }
    let first = stream.below(script.len() as u64) as usize;
    let before = script[..first].iter().rev().find_map(|step| match step {
        Scripted::SleepUntil(ns) => Some(*ns),
        _ => None,
    });
    let begins_ns = before.unwrap_or(0);
    for (at, step) in script.iter_mut().enumerate() {
        if let Scripted::SleepUntil(ns) = step {
            let comes_ns = if at < first { *ns + again_ns } else { *ns };
            *ns = comes_ns.saturating_sub(begins_ns);
        }
    }
    script.rotate_left(first);
}

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
            let script = thread.script.iter().flat_map(|script| script.iter()).copied();
            // Whom they wait for, and whom they wake, is there once.
            let script = script.filter(|step| !matches!(step, Scripted::Wait | Scripted::Wake(_)));
            let mut script: Vec<Scripted> = script.collect();
            if let Some(again_ns) = thread.again_ns {
                begin_elsewhere(&mut script, again_ns.get(), &mut stream);
            }
            // Times of their own grids are shifted too.
            let shifted = script.into_iter().map(|step| match step {
                Scripted::SleepUntil(ns) => Scripted::SleepUntil(ns + shift_ns),
                other => other,
            });
            let script = std::iter::once(Scripted::Sleep(shift_ns + 1)).chain(shifted);
            thread.script = Some(script.collect());
            // That it comes a little later is once only.
            thread.repeat_from = 1;
            let mut role = model.roles[like].clone();
            (role.is_victim, thread.watched) = (false, false);
            model.system.workload.threads.push(thread);
            model.roles.push(role);
        }
        Ok(())
    }

    fn multiplies(&self, _: &Change) -> bool {
        true
    }

    fn price(&self) -> &'static str {
        "it is more load"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_begins_elsewhere_goes_on_in_time() {
        let whole = (1..=20)
            .map(|at| at * 1_000)
            .flat_map(|ns| [Scripted::SleepUntil(ns), Scripted::Run(7)]);
        let whole: Vec<Scripted> = whole.collect();
        let mut begins = Vec::new();
        for seed in 0..8 {
            let mut script = whole.clone();
            begin_elsewhere(&mut script, 20_000, &mut Stream::new(seed, Entity::Maker, 2));
            let times = script.iter().filter_map(|step| match step {
                Scripted::SleepUntil(ns) => Some(*ns),
                _ => None,
            });
            let times: Vec<u64> = times.collect();
            assert_eq!(times.len(), 20);
            assert!(
                times[0] <= 1_000 && times.windows(2).all(|two| two[1] - two[0] == 1_000),
                "{times:?}"
            );
            begins.push(script[0]);
        }
        assert!(begins.windows(2).any(|two| two[0] != two[1]), "{begins:?}");
        begin_elsewhere(&mut [], 1, &mut Stream::new(1, Entity::Maker, 2));
    }
}
