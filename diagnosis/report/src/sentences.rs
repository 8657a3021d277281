//! The findings in three sentences.

use crate::clean::clean;
use crate::data::Data;
use crate::names::full_name;
use crate::units::{count, counted, duration, duration_mean, whole_percent};
use tardy_explain::{CauseFinding, Explanation};

/// Fewer, and a p99 is no more than the maximum.
const TAIL_MIN: u64 = 100;
/// An unexplained share above this is worth a sentence.
const UNEXPLAINED_MIN: f64 = 0.1;

/// Losses are worth a sentence where they touch one wakeup in so many.
const TOUCHED_PER: u64 = 100;

/// The most important things to know, at most three sentences, most important first. They hold names
/// from traces, made clean, and no colours.
pub fn top_sentences(data: &Data<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    // What is doubtful comes before more of what is not.
    sentences.extend(broken_bound(data));
    sentences.extend(overview(data));
    if let Some(explanation) = data.explanation.filter(|e| e.latencies.count() > 0) {
        let sure = [main_cause(explanation), worst_group(explanation), worst_wakeup(explanation)];
        let doubts = doubt(explanation);
        let room = 3usize.saturating_sub(sentences.len() + usize::from(doubts.is_some()));
        sentences.extend(sure.into_iter().flatten().take(room));
        sentences.extend(doubts);
    } else {
        sentences.extend(latest_thread(data));
    }
    sentences.truncate(3);
    sentences
}

fn broken_bound(data: &Data<'_>) -> Option<String> {
    let broken = data.measurement?.broken_by.as_ref()?;
    let (thread, late) = (clean(&broken.thread), duration(broken.latency_ns));
    Some(format!("{thread} was late by {late}, which broke the bound."))
}

fn overview(data: &Data<'_>) -> Option<String> {
    let latencies = data.latencies();
    let all = counted(latencies.count(), data.noun());
    let mean = duration_mean(latencies.mean_ns());
    let max = duration(latencies.max_ns());
    Some(match latencies.count() {
        0 if data.explanation.is_some() => {
            "No wakeup of a watched thread was seen, so there is nothing to explain.".to_owned()
        }
        0 if data.measurement.is_some() => {
            "No sample was taken, so nothing is known of lateness.".to_owned()
        }
        0 => return None,
        1 => format!("There was one {}, late by {max}.", data.noun()),
        2..TAIL_MIN => format!(
            "{all}, late by {mean} on average and {max} at most; too few to speak of a tail."
        ),
        _ => format!(
            "{all} were late by {mean} on average, 99 % of them by {} or less, the latest by {max}.",
            duration(latencies.quantile_ns(0.99))
        ),
    })
}

fn main_cause(explanation: &Explanation) -> Option<String> {
    let cause = explanation.causes.first().filter(|cause| cause.ns > 0)?;
    let who = explanation
        .culprits
        .iter()
        .find(|culprit| culprit.main_cause == cause.cause && !culprit.label.name.is_empty())
        .map(|culprit| {
            let share = whole_percent(culprit.share);
            format!("; above all {} ({share})", full_name(&culprit.label))
        })
        .unwrap_or_default();
    let often = often(cause.wakeups, explanation.latencies.count());
    Some(format!("{}, in {often}{who}.", cause_clause(cause, cause.share, "all lateness")))
}

fn worst_group(explanation: &Explanation) -> Option<String> {
    let group = explanation.worst_group;
    if group.wakeups == 0 || explanation.latencies.count() < TAIL_MIN {
        return None;
    }
    let mut causes: Vec<&CauseFinding> =
        explanation.causes.iter().filter(|cause| cause.worst_ns > 0).collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.worst_ns));
    let (first, second) = (*causes.first()?, causes.get(1));
    let main = explanation.causes.first()?;
    let (wakeups, from) = (counted(group.wakeups, "wakeup"), duration(group.from_ns));
    let of = format!("the lateness of the worst 1 % ({wakeups}, {from} or more each)");
    if first.cause != main.cause {
        return Some(format!("{}.", cause_clause(first, first.worst_share, &of)));
    }
    // The same cause again: its share, and what comes next instead of what it is.
    let next = second
        .map(|cause| {
            let share = whole_percent(cause.worst_share);
            format!("; next is {} with {share}: {}", cause.cause.0, cause.meaning)
        })
        .unwrap_or_default();
    Some(format!("Of {of}, {} is {}{next}.", first.cause.0, whole_percent(first.worst_share)))
}

fn worst_wakeup(explanation: &Explanation) -> Option<String> {
    let worst = explanation.worst.first()?;
    let segment = worst.wakeup.segments.iter().max_by_key(|segment| segment.ns)?;
    let label = worst.label(segment.culprit);
    let who =
        if label.name.is_empty() { String::new() } else { format!(" ({})", full_name(&label)) };
    Some(format!(
        "The latest wakeup, {} late, was {}'s; its longest part is {} of {}{who}.",
        duration(worst.wakeup.lateness_ns),
        full_name(&worst.victim),
        duration(segment.ns),
        segment.cause.0
    ))
}

/// What makes the rest less than certain.
fn doubt(explanation: &Explanation) -> Option<String> {
    let unexplained =
        explanation.causes.iter().find(|cause| cause.cause == tardy_model::Cause::UNEXPLAINED);
    if let Some(cause) = unexplained.filter(|cause| cause.share >= UNEXPLAINED_MIN)
        && explanation.causes.first().is_some_and(|first| first.cause != cause.cause)
    {
        return Some(format!("{} of all lateness is unexplained.", whole_percent(cause.share)));
    }
    let touched = explanation.touched_by_loss;
    let is_weighty = touched.saturating_mul(TOUCHED_PER) >= explanation.latencies.count()
        || explanation.worst.first().is_some_and(|worst| worst.wakeup.touched_by_loss);
    (explanation.lost > 0 && touched > 0 && is_weighty).then(|| {
        let wakeups = counted(touched, "wakeup");
        let were = if explanation.lost == 1 { "event was" } else { "events were" };
        format!("{} {were} lost; {wakeups} may lack a culprit.", count(explanation.lost))
    })
}

fn latest_thread(data: &Data<'_>) -> Option<String> {
    let threads = &data.measurement?.threads;
    let latest = threads.iter().max_by_key(|thread| thread.latencies.max_ns())?;
    (threads.len() > 1 && latest.latencies.count() > 0).then(|| {
        let on = latest.cpu.map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
        format!(
            "The latest was {}{on}; nothing was recorded that would say why.",
            clean(&latest.name)
        )
    })
}

fn cause_clause(cause: &CauseFinding, share: f64, of: &str) -> String {
    format!("{} of {of}: {} ({})", whole_percent(share), cause.meaning, cause.cause.0)
}

/// A count of wakeups as a fraction that can be pictured: "2 wakeups in 3", "1 wakeup in 32".
fn often(part: u64, all: u64) -> String {
    if part == 0 || all == 0 {
        return "no wakeup".to_owned();
    }
    if part >= all {
        return "every wakeup".to_owned();
    }
    let share = part as f64 / all as f64;
    // The smallest denominator that comes within 2.5 % is the easiest to picture.
    let simple = (2..=10u64).find_map(|below| {
        let above = (share * below as f64).round() as u64;
        let error = (above as f64 / below as f64 - share).abs();
        (above > 0 && above < below && error <= 0.025).then_some((above, below))
    });
    match simple {
        Some((1, below)) => format!("1 wakeup in {below}"),
        Some((above, below)) => format!("{above} wakeups in {below}"),
        None if share > 0.5 => "nearly every wakeup".to_owned(),
        None => format!("1 wakeup in {}", count((1.0 / share).round() as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Context;
    use crate::fixture;
    use tardy_lab::{BoundBroken, Measurement};

    #[test]
    fn the_fixture_in_three_sentences() {
        fixture::with_data(|data| insta::assert_snapshot!(top_sentences(data).join("\n")));
        fixture::with_measurement_only(|data| {
            insta::assert_snapshot!(top_sentences(data).join("\n"));
        });
    }

    #[test]
    fn losses_that_weigh_take_a_sentence() {
        let context = Context::default();
        let explanation = Explanation { touched_by_loss: 500, ..fixture::explanation() };
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
                "3 wakeups, late by 6.0 µs on average and 8.0 µs at most; too few to speak of a tail."
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

    #[test]
    fn fractions_can_be_pictured() {
        let shown = [(2, 3), (6_704, 9_998), (1, 2), (9_990, 10_000), (1, 32), (5, 5), (0, 5)]
            .map(|(part, all)| often(part, all));
        assert_eq!(
            shown,
            [
                "2 wakeups in 3",
                "2 wakeups in 3",
                "1 wakeup in 2",
                "nearly every wakeup",
                "1 wakeup in 32",
                "every wakeup",
                "no wakeup"
            ]
        );
    }
}
