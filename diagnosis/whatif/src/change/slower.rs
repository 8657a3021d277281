//! `slower(WHOM)=TIMES`: threads or an interrupt do what they do so many times more rarely.

use super::Predicted;
use crate::model::Model;
use crate::refusal::Refusal;
use std::num::NonZeroU64;
use tardy_changes::{Change, Whom};
use tardy_sim::{COST_NS_MAX, Scripted};

pub(super) struct Slower;

/// Fewer times as often as recorded, so many times as long, is not much more than is seen of a thread.
const TIMES_MIN: f64 = 0.1;

/// A thread that ended in the recording and does its work more often ends when it did: it does so much more of it before
/// what it does in the end.
fn goes_on(script: &mut Vec<Scripted>, from: usize, times: f64) {
    // Before it first sleeps it begins, and waits for those who made it.
    let first_sleep = script.iter().skip(from).position(Scripted::is_sleep).map(|at| from + at);
    let last_sleep = script.iter().rposition(Scripted::is_sleep);
    let (Some(first_sleep), Some(last_sleep)) = (first_sleep, last_sleep) else { return };
    let behind = &script[last_sleep + 1..];
    let is_run = |step: &&Scripted| matches!(step, Scripted::Run(_) | Scripted::Back);
    let ending = script.split_off(last_sleep + 1 + behind.iter().take_while(is_run).count());
    let body = script[first_sleep..].to_vec();
    let untils = || {
        body.iter().filter_map(|step| match step {
            Scripted::SleepUntil(ns) => Some(*ns),
            _ => None,
        })
    };
    // The first of a round is as far from the last of the one before as they are from each other.
    let between = (untils().count() as u64).saturating_sub(1).max(1);
    let length_ns = untils().next_back().zip(untils().next()).map_or(0, |(last, first)| {
        let ns = last.saturating_sub(first);
        ns.saturating_add(ns / between)
    });
    let rounds = (1.0 / times).ceil() as u64;
    for round in 1..rounds {
        let later_ns = length_ns.saturating_mul(round);
        // Nobody wakes it more often than was recorded, and it wakes nobody more often.
        let own = |step: &&Scripted| !matches!(step, Scripted::Wait | Scripted::Wake(_));
        script.extend(body.iter().filter(own).map(|step| match *step {
            Scripted::SleepUntil(ns) => {
                Scripted::SleepUntil(ns.saturating_add(later_ns).min(COST_NS_MAX))
            }
            other => other,
        }));
    }
    script.extend(ending);
}

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
        if times < TIMES_MIN {
            let why = "a recording does not show what they would do more than ten times as often";
            return Err(Refusal::Meaningless(why.to_owned()));
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
            let mut script: Vec<Scripted> = script.collect();
            if thread.again_ns.is_none() {
                goes_on(&mut script, thread.repeat_from, times);
            }
            sleeps |= script.iter().any(Scripted::is_sleep);
            thread.script = Some(script.into());
            let again_ns = thread.again_ns.map(|ns| longer(ns.get()));
            thread.again_ns = again_ns.and_then(NonZeroU64::new);
        }
        if sleeps {
            return Ok(());
        }
        Err(Refusal::Meaningless("those threads do not wait for timers of their own".to_owned()))
    }

    fn multiplies(&self, change: &Change) -> bool {
        change.number().is_some_and(|times| times < 1.0)
    }

    fn price(&self) -> &'static str {
        "what they do is done less often"
    }

    fn price_of(&self, change: &Change) -> &'static str {
        if self.multiplies(change) { super::more::More.price() } else { self.price() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_ends_does_more_before_that() {
        let round = [Scripted::SleepUntil(5), Scripted::Run(1), Scripted::SleepUntil(10)];
        let ending = [Scripted::Run(2), Scripted::Wait, Scripted::Run(3)];
        let begins = [Scripted::Run(9), Scripted::Wait];
        let mut script = [&begins[..], &round, &ending].concat();
        goes_on(&mut script, 1, 0.5);
        let again = [Scripted::SleepUntil(15), Scripted::Run(1), Scripted::SleepUntil(20)];
        let more = [&begins[..], &round, &[Scripted::Run(2)], &again, &ending].concat();
        assert_eq!(script, more);
        let mut never = vec![Scripted::Run(1), Scripted::Wait];
        goes_on(&mut never, 0, 0.5);
        assert_eq!(never.len(), 2);
    }
}
