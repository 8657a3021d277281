//! Who waits for an answer of whom it has woken.
//!
//! Where the answer is there before it is waited for, nobody waits and nobody is woken: no event tells that the one asked
//! and the other answered. In a changed system, in which the one that answers comes to run later or the other one sooner,
//! it would wait. Who mostly waits for its answer is taken to do so always. Of who hardly ever waits nobody can tell whether
//! its answer was always there or it does not care.

use super::draft::Draft;
use super::samples::median;
use std::collections::HashMap;
use tardy_sim::Scripted;

/// Turns in which a thread waited for its answer, at least: of fewer nobody can tell.
const WAITED_MIN: usize = 10;

/// A thread that goes on without an answer more often than once in so many turns does not wait for it.
const GOES_ON_SHARE: usize = 20;

/// A thread that is mostly kept from running until its answer is there waits in one of so many turns at least.
const KEPT_OFF_SHARE: usize = 5;

/// One thread woke another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Who woke, and its step.
    pub(super) asks: (u32, usize),
    /// Who was woken, and the wait that this ended.
    pub(super) answers: (u32, usize),
    /// The other slept again before the one did: when.
    pub(super) over_ns: Option<u64>,
    /// The one ran on another CPU then: it could have come to its wait by itself.
    pub(super) is_beside: bool,
}

/// What became of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Became {
    /// The one waited until the other woke it. Both had run before that for so long, ns.
    Waited { asks_ns: u64, answers_ns: u64 },
    /// The other was ready before the one waited for anything.
    Unseen,
    /// The one went on.
    WentOn,
}

/// What a thread runs after a step, and what comes after that.
fn after(draft: &Draft, step: usize) -> (u64, Option<Scripted>) {
    match draft.steps.get(step + 1..).unwrap_or_default() {
        [Scripted::Run(ns), then, ..] => (*ns, Some(*then)),
        [Scripted::Run(ns)] => (*ns, None),
        [then, ..] => (0, Some(*then)),
        [] => (0, None),
    }
}

fn became<'a>(turn: &Turn, draft_of: &dyn Fn(u32) -> Option<&'a Draft>) -> Option<Became> {
    let (one, other) = (draft_of(turn.asks.0)?, draft_of(turn.answers.0)?);
    let (asks_ns, then) = after(one, turn.asks.1);
    let (answers_ns, answer) = after(other, turn.answers.1);
    let waits = then == Some(Scripted::Wait);
    if waits && answer == Some(Scripted::Wake(turn.asks.0)) {
        return Some(Became::Waited { asks_ns, answers_ns });
    }
    let sleeps =
        |step| matches!(step, Scripted::Wait | Scripted::Sleep(_) | Scripted::SleepUntil(_));
    // The last turn of a recording has no end.
    let is_unseen = turn.over_ns.is_some() && answer.is_some_and(sleeps) && answers_ns > 0;
    then.and(Some(if is_unseen { Became::Unseen } else { Became::WentOn }))
}

/// What is between two threads.
#[derive(Debug, Default)]
struct Between {
    asks_ns: Vec<u64>,
    answers_ns: Vec<u64>,
    went_on: usize,
    unseen: Vec<Turn>,
}

/// What no event tells of.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    /// By thread, waits and wakings: after which step, how long it runs before it, and it.
    pub(super) steps: HashMap<u32, Vec<(usize, u64, Scripted)>>,
    /// Who woke whom, and when, at the latest.
    pub(super) woke: Vec<(u32, u64, u32)>,
}

/// The waits and wakings that no event tells of.
pub(super) fn unseen<'a>(turns: &[Turn], draft_of: impl Fn(u32) -> Option<&'a Draft>) -> Unseen {
    let mut pairs: HashMap<(u32, u32), Between> = HashMap::new();
    for turn in turns {
        let pair = pairs.entry((turn.asks.0, turn.answers.0)).or_default();
        match became(turn, &draft_of) {
            Some(Became::Waited { asks_ns, answers_ns }) => {
                pair.asks_ns.push(asks_ns);
                pair.answers_ns.push(answers_ns);
            }
            Some(Became::Unseen) => pair.unseen.push(*turn),
            Some(Became::WentOn) => pair.went_on += 1,
            None => {}
        }
    }
    let mut found = Unseen::default();
    for (_, mut pair) in pairs {
        let waited = pair.asks_ns.len();
        let beside = pair.unseen.iter().filter(|turn| turn.is_beside).count();
        let mostly = waited >= beside
            && waited * KEPT_OFF_SHARE >= pair.unseen.len()
            && pair.went_on * GOES_ON_SHARE <= waited;
        if waited < WAITED_MIN || !mostly {
            continue;
        }
        let (asks_ns, answers_ns) = (median(&mut pair.asks_ns), median(&mut pair.answers_ns));
        for Turn { asks, answers, over_ns, .. } in pair.unseen {
            let steps = &mut found.steps;
            steps.entry(asks.0).or_default().push((asks.1, asks_ns, Scripted::Wait));
            let answer = (answers.1, answers_ns, Scripted::Wake(asks.0));
            steps.entry(answers.0).or_default().push(answer);
            found.woke.extend(over_ns.map(|ns| (answers.0, ns, asks.0)));
        }
    }
    for steps in found.steps.values_mut() {
        steps.sort_unstable_by_key(|(at, ..)| *at);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that wakes its server and waits for it, but in `early` of so many turns finds it ready; and goes on without
    /// it in some.
    fn drafts(
        (turns, early, goes_on): (usize, usize, usize),
        is_beside: bool,
    ) -> ([Draft; 2], Vec<Turn>) {
        let (mut client, mut server) = (Draft::default(), Draft::default());
        let mut all = Vec::new();
        for at in 0..turns {
            server.steps.push(Scripted::Wait);
            client.steps.extend([Scripted::Sleep(1_000), Scripted::Run(10), Scripted::Wake(1)]);
            let asks = (0, client.steps.len() - 1);
            let answers = (1, server.steps.len() - 1);
            all.push(Turn { asks, answers, over_ns: (at < early).then_some(at as u64), is_beside });
            if at < early + goes_on {
                client.steps.push(Scripted::Run(7));
                server.steps.push(Scripted::Run(63));
            } else {
                client.steps.extend([Scripted::Run(2), Scripted::Wait, Scripted::Run(5)]);
                server.steps.extend([Scripted::Run(60), Scripted::Wake(0), Scripted::Run(3)]);
            }
        }
        client.steps.push(Scripted::Sleep(1_000));
        server.steps.push(Scripted::Wait);
        ([client, server], all)
    }

    fn mended(turns: (usize, usize, usize), is_beside: bool) -> [Draft; 2] {
        let ([mut client, mut server], all) = drafts(turns, is_beside);
        let mut found = unseen(&all, |at| Some(if at == 0 { &client } else { &server }));
        assert_eq!(found.woke.len(), found.steps.get(&1).map_or(0, Vec::len), "each is known");
        client.also_does(&found.steps.remove(&0).unwrap_or_default());
        server.also_does(&found.steps.remove(&1).unwrap_or_default());
        [client, server]
    }

    #[test]
    fn an_answer_that_was_there_in_time_is_waited_for_nevertheless() {
        let ([whole_client, whole_server], _) = drafts((100, 0, 0), false);
        for (early, is_beside) in [(30, false), (70, false), (30, true)] {
            let [client, server] = mended((100, early, 0), is_beside);
            assert_eq!(client.steps, whole_client.steps);
            assert_eq!(server.steps, whole_server.steps);
        }
    }

    #[test]
    fn who_goes_on_without_an_answer_does_not_wait_for_it() {
        let kept_off = [(100, 30, 20), (100, 0, 100), (9, 3, 0), (100, 90, 0)];
        let kept_off = kept_off.into_iter().map(|turns| (turns, false));
        for (turns, is_beside) in kept_off.chain([((100, 70, 0), true)]) {
            let ([client, _], _) = drafts(turns, is_beside);
            assert_eq!(mended(turns, is_beside)[0].steps, client.steps);
        }
    }
}
