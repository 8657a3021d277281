//! A wakeup in words.

use super::turns::{GroupNames, Part, sums, turns};
use super::{PARTS_SHOWN, UNBROKEN};
use crate::clean::{clean, cut};
use crate::json::MergedSegment;
use crate::names::full_name;
use crate::palette::look;
use crate::units::{count, duration};
use tardy_explain::{Explanation, Label, WorstWakeup};
use tardy_model::Cause;
use unicode_width::UnicodeWidthStr as _;

/// Sums of one wakeup at most.
const TOTALS_SHOWN: usize = 6;

/// Groups named of one part.
const NAMED: usize = 3;

/// "412.3 µs: cyclic-1 (4102) on CPU 1, 3.214567 s after the start".
pub(crate) fn headline(explanation: &Explanation, worst: &WorstWakeup) -> String {
    let wakeup = &worst.wakeup;
    let after_ns = wakeup.expiry_ns.saturating_sub(explanation.start_ns);
    let seconds = format!("{}.{:06}", after_ns / 1_000_000_000, after_ns / 1_000 % 1_000_000);
    let is_whole = wakeup.segments.iter().all(|segment| segment.cause != Cause::UNEXPLAINED);
    let loss = match (wakeup.near_loss, wakeup.touched_by_loss) {
        (true, _) => "; near a loss of events",
        (false, true) if !is_whole => "; a CPU was silent for a while",
        _ => "",
    };
    let pid = worst.victim.pid.unwrap_or(wakeup.task.0);
    format!(
        "{}: {} ({pid}) on CPU {}, {seconds} s after the start{loss}",
        duration(wakeup.lateness_ns),
        full_name(&worst.victim),
        wakeup.cpu,
    )
}

/// What it was by cause and culprit, most first, as much as fits into `width` columns.
pub(crate) fn summary(
    entry: &WorstWakeup,
    segments: &[MergedSegment<Label>],
    names: &GroupNames<'_>,
    width: usize,
) -> String {
    let all = sums(&entry.victim, segments, names);
    let mut text = String::new();
    for (number, part) in all.iter().enumerate() {
        let left = all.len() - number;
        let between = if number == 0 { "" } else { " · " };
        let times = if part.times > 1 { format!(", {} times", part.times) } else { String::new() };
        let by = if part.is_other { format!(" by {}", part.who) } else { String::new() };
        let is_meant = |culprit| names.of(&entry.label(culprit)) == part.who;
        let stack = if part.is_other { entry.stack(part.cause, is_meant) } else { None };
        let words = stack.map(|stack| clean(&stack.words()));
        let place = words.map_or_else(String::new, |words| format!(" in {words}"));
        let next = format!("{between}{} {}{by}{place}{times}", duration(part.ns), part.cause.0);
        let room = width.saturating_sub(text.width());
        // What is left out is counted: there has to be room for that too.
        let rest = if left > 1 { format!(" · {} more", left - 1).width() } else { 0 };
        if number > 0 && next.width() + rest > room {
            text = format!("{text} · {left} more");
            break;
        }
        text.push_str(&next);
    }
    cut(&text, width)
}

/// The parts with their letters, lengths and culprits, in order of time; those in which two take turns as one. Of many,
/// what each cause and culprit took in all, the most first: nobody reads forty parts.
pub(super) fn parts(
    victim: &Label,
    segments: &[MergedSegment<Label>],
    names: &GroupNames<'_>,
) -> String {
    let ranges = turns(segments, names);
    if ranges.len() > PARTS_SHOWN {
        return totals(victim, segments, names);
    }
    let parts: Vec<String> = ranges
        .into_iter()
        .map(|range| match &segments[range] {
            [one] => part(one, names),
            many => in_turns(many, names),
        })
        .collect();
    parts.join(" · ")
}

/// `R 12.1 ms rustc, 31 times · Q 40.2 µs irqs of eth0, 25 times · 3 more, 1.2 µs together`
fn totals(victim: &Label, segments: &[MergedSegment<Label>], names: &GroupNames<'_>) -> String {
    let all = sums(victim, segments, names);
    let (shown, others) = all.split_at(all.len().min(TOTALS_SHOWN));
    let total = |part: &Part| {
        let letter = look(part.cause).letter;
        let times = match part.times {
            1 => String::new(),
            times => format!(", {} times", count(times)),
        };
        unbroken(&format!("{letter} {} {}{times}", duration(part.ns), part.who))
    };
    let mut words: Vec<String> = shown.iter().map(total).collect();
    if !others.is_empty() {
        let ns = others.iter().map(|part| part.ns).sum();
        words.push(format!("{} more, {} together", others.len(), duration(ns)));
    }
    words.join(" · ")
}

/// `T 355.6 µs sleep timers of storm-* (20 threads)`
fn part(segment: &MergedSegment<Label>, names: &GroupNames<'_>) -> String {
    let letter = look(segment.cause).letter;
    let who = culprits(segment, names, NAMED);
    unbroken(&format!("{letter} {} {who}", duration(segment.ns)))
}

/// The groups of a segment, most first.
pub(super) fn culprits(
    segment: &MergedSegment<Label>,
    names: &GroupNames<'_>,
    max: usize,
) -> String {
    let all = sums(&Label::default(), std::slice::from_ref(segment), names);
    let name = |part: &Part| match all.len() {
        1 => part.who.clone(),
        _ => format!("{} {}", part.who, duration(part.ns)),
    };
    let mut shown: Vec<String> = all.iter().take(max).map(name).collect();
    if let Some(more @ 1..) = all.len().checked_sub(max) {
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
}

/// `N 40.0 µs rustc 7 times and Q 3.1 µs irqs of eth0 6 times in turn`
fn in_turns(segments: &[MergedSegment<Label>], names: &GroupNames<'_>) -> String {
    let mut told: Vec<(MergedSegment<Label>, u64)> = Vec::new();
    for segment in segments {
        match told
            .iter_mut()
            .find(|(known, _)| known.cause == segment.cause && same(known, segment, names))
        {
            Some((known, times)) => {
                known.ns += segment.ns;
                known.culprits.extend(segment.culprits.iter().cloned());
                *times += 1;
            }
            None => told.push((segment.clone(), 1)),
        }
    }
    let words: Vec<String> =
        told.iter().map(|(sum, times)| format!("{} {times} times", part(sum, names))).collect();
    format!("{} in turn", words.join(" and "))
}

fn same(a: &MergedSegment<Label>, b: &MergedSegment<Label>, names: &GroupNames<'_>) -> bool {
    let first =
        |segment: &MergedSegment<Label>| segment.culprits.first().map(|(label, _)| names.of(label));
    first(a) == first(b)
}

/// The letter, the length and the beginning of the name stay on one line.
fn unbroken(part: &str) -> String {
    part.replacen(' ', &UNBROKEN.to_string(), 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn segments(parts: &[(usize, u64)]) -> Vec<MergedSegment<Label>> {
        let causes = ["cpu_contention", "interrupts", "lock", "slack", "callback"];
        let one = |(start_ns, (who, ns)): (usize, &(usize, u64))| {
            let label = Label { kind: "task", name: format!("task-{who}"), pid: None };
            MergedSegment {
                cause: Cause(causes[who % causes.len()]),
                start_ns: start_ns as u64,
                ns: *ns,
                culprits: vec![(label, *ns)],
                stretch: 0,
            }
        };
        parts.iter().enumerate().map(one).collect()
    }

    fn told(parts_of: &[(usize, u64)]) -> String {
        parts(&Label::default(), &segments(parts_of), &GroupNames::default()).replace(UNBROKEN, " ")
    }

    #[test]
    fn of_many_parts_sums_are_told() {
        let many: Vec<(usize, u64)> = (0..60).map(|at| (at % 9, 1_000 + at as u64)).collect();
        let told = told(&many);
        assert_eq!(told.matches(" · ").count(), TOTALS_SHOWN, "{told}");
        assert!(told.contains(" task-5, 7 times · ") && told.contains("3 more, "), "{told}");
    }

    proptest! {
        #[test]
        fn few_lines_whatever_it_is(
            parts in prop::collection::vec((0..9_usize, 1..9_000_000_u64), 0..300),
        ) {
            prop_assert!(told(&parts).matches(" · ").count() < PARTS_SHOWN + TOTALS_SHOWN);
        }
    }
}
