//! The verdict, in two sentences or three.

use crate::clean::clean;
use crate::data::Data;
use crate::names::{full_name, group_name};
use crate::section::{GroupNames, merged, sums};
use crate::units::{count, counted, duration, duration_mean, whole_percent};
use std::collections::BTreeSet;
use tardy_explain::{Bound, Explanation, GroupFinding};
use tardy_model::Cause;

/// With more, it is no verdict any more.
const SENTENCES_MAX: usize = 3;
/// Fewer, and a p99 is no more than the maximum.
const TAIL_MIN: u64 = 100;
/// Fewer, and one of them more or less would change what the rest says.
pub(crate) const FEW: u64 = 30;
/// An unexplained share above this is worth a sentence.
const UNEXPLAINED_MIN: f64 = 0.1;

/// Losses are worth a sentence where they touch one wakeup in so many.
const TOUCHED_PER: u64 = 100;

/// The verdict: how late, and who or what it was. Two sentences, and where there is reason to doubt them, a
/// third. They hold names from traces, made clean, and no colours.
pub fn top_sentences(data: &Data<'_>) -> Vec<String> {
    sentences(data, false)
}

/// The same without what causes mean, where there is no room for that.
pub(crate) fn short_sentences(data: &Data<'_>) -> Vec<String> {
    sentences(data, true)
}

fn sentences(data: &Data<'_>, is_short: bool) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(broken_bound(data));
    sentences.extend(refusal(data));
    sentences.extend(overview(data));
    if let Some(explanation) = data.explanation.filter(|e| e.latencies.count() > 0) {
        sentences.extend(main_culprit(explanation, is_short));
        sentences.extend(doubt(explanation));
    } else {
        sentences.extend(latest_thread(data));
    }
    sentences.truncate(SENTENCES_MAX + usize::from(data.context.policy_refused.is_some()));
    if data.context.is_cut_short {
        sentences.insert(0, CUT_SHORT.to_owned());
    }
    // What the recording was kept for comes before all that is in it.
    if let Some(sentence) = caught(data) {
        sentences.insert(0, sentence);
    }
    sentences
}

const CUT_SHORT: &str = "The recording was cut short (tardy was killed, or still records).";

/// For which wakeup the recording was kept, and who it was.
fn caught(data: &Data<'_>) -> Option<String> {
    let (caught, explanation) = (data.context.caught.as_ref()?, data.explanation?);
    let bound = duration(caught.over_ns);
    let Some(worst) = data.caught() else {
        return Some(format!(
            "Kept for thread {} that ran more than {bound} late on {}, which is not among the wakeups explained \
             here.",
            caught.task,
            clean(&caught.when)
        ));
    };
    let names = GroupNames::new(explanation);
    let most = sums(&worst.victim, &merged(worst), &names).into_iter().next();
    let by = most.map_or_else(String::new, |part| {
        let who = if part.is_other { format!(" by {}", part.who) } else { String::new() };
        format!("; {} of that was {}{who}", duration(part.ns), part.cause.0)
    });
    Some(format!(
        "Kept for {} ({}), which ran {} late on CPU {} on {}, over the bound of {bound}{by}.",
        full_name(&worst.victim),
        caught.task,
        duration(worst.wakeup.lateness_ns),
        worst.wakeup.cpu,
        clean(&caught.when)
    ))
}

/// That the threads were not what they were meant to be, which is what all the rest is about.
fn refusal(data: &Data<'_>) -> Option<String> {
    let policy = data.context.policy_refused.as_ref()?;
    Some(format!("The threads ran under SCHED_OTHER, as {} was refused.", clean(policy)))
}

fn broken_bound(data: &Data<'_>) -> Option<String> {
    let broken = data.measurement?.broken_by.as_ref()?;
    let (thread, late) = (clean(&broken.thread), duration(broken.latency_ns));
    Some(format!("{thread} was late by {late}, which broke the bound."))
}

fn overview(data: &Data<'_>) -> Option<String> {
    let latencies = data.latencies();
    let all = counted(latencies.count(), "wakeup") + &whose(data);
    let mean = duration_mean(latencies.mean_ns());
    let max = duration(latencies.max_ns());
    Some(match latencies.count() {
        0 if data.explanation.is_some() => {
            "No wakeup of a watched thread was seen, so there is nothing to explain.".to_owned()
        }
        0 if data.measurement.is_some() => {
            "No wakeup was measured, so nothing is known about lateness.".to_owned()
        }
        0 => return None,
        1 => format!("There was one wakeup{}, late by {max}.", whose(data)),
        2..FEW => {
            format!(
                "{all}, late by {mean} on average and {max} at most; too few for more than a hint."
            )
        }
        FEW..TAIL_MIN => {
            format!("{all}, late by {mean} on average and {max} at most; too few for a tail.")
        }
        _ => format!(
            "{all} were late by {mean} on average, 99 % of them by {} or less, the latest by {max}.",
            duration(latencies.quantile_ns(0.99))
        ),
    })
}

/// From this share on, what wakeups take by themselves is said.
const OWN_SHARE_MIN: f64 = 0.2;

const OWN_WORK: &str = " (clock-event device, timer callback, the thread's own work)";

/// Who took most, as what, beside what wakeups take by themselves; else, where nobody is known, what it was. And
/// what the tail is, where that is another cause.
fn main_culprit(explanation: &Explanation, is_short: bool) -> Option<String> {
    let meaning = |cause: Cause| {
        let found = explanation.causes.iter().find(|found| found.cause == cause);
        found.map_or("", |found| found.meaning)
    };
    let explained = |cause: Cause| {
        if is_short { String::new() } else { format!(" ({})", meaning(cause)) }
    };
    let blamed_ns = |group: &GroupFinding| group.ns - group.own_ns();
    let most = |a: &&GroupFinding, b: &&GroupFinding| blamed_ns(a).cmp(&blamed_ns(b));
    // Of equals the first, as the tables have them.
    let blamed = explanation.groups.iter().rev().max_by(most).filter(|group| blamed_ns(group) > 0);
    let all_ns = explanation.groups.iter().map(|group| group.ns).fold(0, u64::saturating_add);
    let own_ns = explanation.groups.iter().map(GroupFinding::own_ns).fold(0, u64::saturating_add);
    let share = |ns: u64| ns as f64 / all_ns.max(1) as f64;
    let own = if share(own_ns) < OWN_SHARE_MIN {
        None
    } else {
        let own = whole_percent(share(own_ns));
        let what = if is_short { "" } else { OWN_WORK };
        Some(format!("{own} of that is what a wakeup takes here when nothing is in its way{what}"))
    };
    let Some(blamed) = blamed else { return own.map(|own| format!("{own}.")) };
    let cause = blamed.blamed_cause()?;
    let tail = tail(explanation, cause);
    if blamed.group.name.is_empty() {
        let share = whole_percent(share(blamed_ns(blamed)));
        let limit =
            if cause == Cause::UNEXPLAINED { own_limit(explanation) } else { String::new() };
        let nobody = format!("{share} of that is {}{}{limit}{tail}.", cause.0, explained(cause));
        return Some(match own {
            Some(own) => format!("{own}; {nobody}"),
            None => nobody,
        });
    }
    let cause_ns = blamed.causes.iter().find(|(known, _)| *known == cause).map_or(0, |(_, ns)| *ns);
    let mostly = if cause_ns * 100 >= blamed_ns(blamed) * 99 { "" } else { "mostly " };
    let (who, took) = (group_name(&blamed.group), whole_percent(share(blamed_ns(blamed))));
    // Whoever is said to have done it in the cause's own words is not named twice.
    let what = match meaning(cause).strip_prefix(&who) {
        Some(did) => format!("{mostly}because it{did}"),
        None => format!("{mostly}as {}{}", cause.0, explained(cause)),
    };
    Some(match own {
        Some(own) => format!("{own}; {who} took {took}, {what}{tail}."),
        None => format!("{} took {took} of that, {what}{tail}.", capital(&who)),
    })
}

/// What the worst wakeups were late by most, where that is not `main`.
fn tail(explanation: &Explanation, main: Cause) -> String {
    let group = explanation.worst_group;
    let worst = explanation.causes.iter().max_by_key(|cause| cause.worst_ns);
    match worst.filter(|worst| worst.worst_ns > 0 && worst.cause != main) {
        Some(worst) if explanation.latencies.count() >= TAIL_MIN => format!(
            "; the worst 1 % ({}, {} or more each) were {} {}, {}",
            counted(group.wakeups, "wakeup"),
            duration(group.from_ns),
            if worst.worst_share > 0.5 { "mostly" } else { "above all" },
            worst.cause.0,
            whole_percent(worst.worst_share),
        ),
        _ => String::new(),
    }
}

/// Whose wakeups they are.
fn whose(data: &Data<'_>) -> String {
    let series = data.series();
    match series.as_slice() {
        [] => String::new(),
        [one] => format!(" of {}", clean(one.name)),
        [one, two] => format!(" of {} and {}", clean(one.name), clean(two.name)),
        many => {
            let threads = data.explanation.map_or(many.len() as u64, threads);
            format!(" of {}", counted(threads, "thread"))
        }
    }
}

/// How many threads were late. One that took another name meanwhile is one.
fn threads(explanation: &Explanation) -> u64 {
    let pids = explanation.victims.iter().map(|victim| victim.label.pid);
    let named: BTreeSet<u32> = pids.clone().flatten().collect();
    let without = pids.filter(Option::is_none).count();
    (named.len() + without) as u64 + explanation.victims_left_out
}

/// A sentence begins with a capital where what stands there is words of ours; a name stays as it is.
fn capital(name: &str) -> String {
    match name.split_once(' ') {
        Some((
            first @ ("the" | "timer" | "sleep" | "interrupts" | "threads" | "irqs" | "interrupt"
            | "softirq" | "idle"),
            rest,
        )) => {
            let (initial, others) = first.split_at(1);
            format!("{}{others} {rest}", initial.to_uppercase())
        }
        _ => name.to_owned(),
    }
}

/// What makes the rest less than certain.
fn doubt(explanation: &Explanation) -> Option<String> {
    let unexplained = explanation.causes.iter().find(|cause| cause.cause == Cause::UNEXPLAINED);
    if let Some(cause) = unexplained.filter(|cause| cause.share >= UNEXPLAINED_MIN)
        && explanation.causes.first().is_some_and(|first| first.cause != cause.cause)
    {
        let share = whole_percent(cause.share);
        return Some(format!("{share} of all lateness is unexplained{}.", own_limit(explanation)));
    }
    let near = explanation.near_loss;
    let is_weighty = near.saturating_mul(TOUCHED_PER) >= explanation.latencies.count()
        || explanation.worst.first().is_some_and(|worst| worst.wakeup.near_loss);
    (explanation.lost > 0 && near > 0 && is_weighty).then(|| {
        let wakeups = counted(near, "wakeup");
        let were = if explanation.lost == 1 { "event was" } else { "events were" };
        format!("{} {were} lost; {wakeups} may lack a culprit.", count(explanation.lost))
    })
}

/// That a limit of tardy's own is why something is unexplained, where it is.
fn own_limit(explanation: &Explanation) -> String {
    let reached = explanation.bounds.iter().find(|bound| bound.of == Bound::WAKEUP);
    reached.map_or_else(String::new, |bound| {
        format!(
            ", in {} because tardy remembers only the last {} changes of a CPU",
            counted(bound.count, "wakeup"),
            count(bound.limit)
        )
    })
}

fn latest_thread(data: &Data<'_>) -> Option<String> {
    let threads = &data.measurement?.threads;
    let latest = threads.iter().max_by_key(|thread| thread.latencies.max_ns())?;
    (threads.len() > 1 && latest.latencies.count() > 0).then(|| {
        let on = latest.cpu.map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
        format!(
            "The latest was {}{on}; no events were recorded that could explain it.",
            clean(&latest.name)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Context;
    use crate::fixture;
    use tardy_explain::{CauseFinding, Group};
    use tardy_lab::{BoundBroken, Measurement};

    #[test]
    fn the_fixture_in_two_sentences() {
        fixture::with_data(|data| insta::assert_snapshot!(top_sentences(data).join("\n")));
        fixture::with_measurement_only(|data| {
            insta::assert_snapshot!(top_sentences(data).join("\n"));
        });
    }

    #[test]
    fn a_hypervisor_is_named_once() {
        let (context, mut explanation) = (Context::default(), fixture::explanation());
        let stolen = Cause("hypervisor");
        explanation.groups.truncate(1);
        let group = &mut explanation.groups[0];
        group.group = Group { name: "the hypervisor".to_owned(), ..Group::default() };
        (group.main_cause, group.causes) = (stolen, vec![(stolen, group.ns)]);
        let meaning = "the hypervisor ran something else (stolen time)";
        explanation.causes[0] =
            CauseFinding { cause: stolen, meaning, ..explanation.causes[0].clone() };
        let data = Data { explanation: Some(&explanation), ..Data::new(&context) };
        let all = top_sentences(&data).join(" ");
        assert!(
            all.contains(
                "The hypervisor took 100 % of that, because it ran something else (stolen time)"
            ),
            "{all}"
        );
    }

    #[test]
    fn a_limit_of_ours_is_said_where_it_leaves_much_unexplained() {
        let (context, mut explanation) = (Context::default(), fixture::explanation());
        let other = explanation.causes[0].clone();
        explanation.causes.retain(|cause| cause.cause != Cause::UNEXPLAINED);
        explanation.causes.push(CauseFinding { cause: Cause::UNEXPLAINED, share: 0.2, ..other });
        let sentences = |explanation: &Explanation| {
            let data = Data { explanation: Some(explanation), ..Data::new(&context) };
            top_sentences(&data).join(" ")
        };
        assert!(sentences(&explanation).contains("20 % of all lateness is unexplained."));
        explanation.bounds = vec![Bound { of: Bound::WAKEUP, what: "", limit: 32_768, count: 1 }];
        let said = sentences(&explanation);
        assert!(
            said.contains(
                "is unexplained, in 1 wakeup because tardy remembers only the last 32,768"
            ),
            "{said}"
        );
    }

    #[test]
    fn a_refused_policy_comes_first() {
        let refused = Some("SCHED_FIFO 80".to_owned());
        let context = Context { policy_refused: refused, ..Context::default() };
        let explanation = Explanation { near_loss: 500, ..fixture::explanation() };
        let data = Data { explanation: Some(&explanation), ..Data::new(&context) };
        let sentences = top_sentences(&data);
        assert_eq!(
            sentences[0],
            "The threads ran under SCHED_OTHER, as SCHED_FIFO 80 was refused."
        );
        assert!(sentences[3].contains("212 events were lost"), "{sentences:?}");
    }

    #[test]
    fn that_a_recording_was_cut_short_is_said_first() {
        let context = Context { is_cut_short: true, ..Context::default() };
        let explanation = fixture::explanation();
        let data = Data { explanation: Some(&explanation), ..Data::new(&context) };
        assert!(top_sentences(&data)[0].starts_with("The recording was cut short"));
    }

    #[test]
    fn losses_that_weigh_take_a_sentence() {
        let context = Context::default();
        let explanation = Explanation { near_loss: 500, ..fixture::explanation() };
        let data = Data { explanation: Some(&explanation), ..Data::new(&context) };
        assert_eq!(
            top_sentences(&data)[2],
            "212 events were lost; 500 wakeups may lack a culprit."
        );
    }

    #[test]
    fn little_data_makes_modest_sentences() {
        let context = Context::default();
        assert!(top_sentences(&Data::new(&context)).is_empty());

        let explanation = Explanation::default();
        let data = Data { explanation: Some(&explanation), ..Data::new(&context) };
        assert_eq!(
            top_sentences(&data),
            ["No wakeup of a watched thread was seen, so there is nothing to explain."]
        );

        let mut few = Explanation::default();
        for ns in [4_000, 6_000, 8_000] {
            few.latencies.record(ns);
        }
        let data = Data { explanation: Some(&few), ..Data::new(&context) };
        assert_eq!(
            top_sentences(&data),
            [
                "3 wakeups, late by 6.0 µs on average and 8.0 µs at most; too few for more than a hint."
            ]
        );
    }

    #[test]
    fn a_broken_bound_comes_first() {
        let context = Context::default();
        let broken =
            BoundBroken { thread: "rt\u{1b}[0m".into(), latency_ns: 612_000, expiry_ns: 5 };
        let measurement = Measurement { broken_by: Some(broken), ..fixture::measurement() };
        let data = Data { measurement: Some(&measurement), ..Data::new(&context) };
        assert_eq!(
            top_sentences(&data)[0],
            "rt\\u{1b}[0m was late by 612.0 µs, which broke the bound."
        );
    }
}
