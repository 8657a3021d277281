//! How a story names who and what it tells of.

use crate::findings::{WorstWakeup, place_in_words};
use tardy_model::{Cause, Culprit, NameId, Prio, TaskId, duration};

/// Culprits named of one part.
const NAMED_MAX: usize = 5;

pub(super) fn function_of(worst: &WorstWakeup, function: NameId) -> String {
    match worst.label(Culprit::Function(function)).name {
        name if name.is_empty() => name,
        name => format!(" ({name})"),
    }
}

/// ` in ` and the functions of a stack; nothing where none was taken.
pub(super) fn in_place(worst: &WorstWakeup, stack: NameId) -> String {
    match stack {
        NameId::NONE => String::new(),
        stack => match worst.label(Culprit::Function(stack)).name {
            name if name.is_empty() => name,
            frames => format!(" in {}", place_in_words(&frames)),
        },
    }
}

pub(super) fn work_of(worst: &WorstWakeup, work: NameId) -> String {
    match worst.label(Culprit::Function(work)).name {
        name if name.is_empty() => name,
        name => format!(" while it works on {name}"),
    }
}

pub(super) fn task(worst: &WorstWakeup, task: TaskId) -> String {
    described(worst, Culprit::Task(task))
}

pub(super) fn described(worst: &WorstWakeup, culprit: Culprit) -> String {
    let name = name(worst, culprit);
    match culprit {
        Culprit::Irq(_) => format!("the interrupt {name}"),
        Culprit::Softirq(_) => format!("the softirq {name}"),
        _ => name,
    }
}

pub(super) fn name(worst: &WorstWakeup, culprit: Culprit) -> String {
    match (worst.label(culprit).name, culprit) {
        (name, Culprit::Task(task)) if name.is_empty() => format!("thread {task}"),
        (name, _) if name.is_empty() => "somebody".to_owned(),
        (name, _) => name,
    }
}

/// A culprit's name, and where it was, as far as that is known.
pub(super) fn placed(worst: &WorstWakeup, cause: Cause, culprit: Culprit) -> String {
    let name = name(worst, culprit);
    match worst.stack(cause, |other| other == culprit) {
        Some(stack) => format!("{name} in {}", stack.words()),
        None => name,
    }
}

/// Culprits, most first, each with its time where they are several.
pub(super) fn names(worst: &WorstWakeup, cause: Cause, parts: &[(Culprit, u64)]) -> String {
    if let [(culprit, _)] = parts {
        return placed(worst, cause, *culprit);
    }
    let parts = by_name(worst, cause, parts);
    if let [(name, _)] = &parts[..] {
        return name.clone();
    }
    let named = parts.iter().take(NAMED_MAX);
    let mut named: Vec<String> =
        named.map(|(name, ns)| format!("{name} {}", duration(*ns))).collect();
    if let Some(more @ 1..) = parts.len().checked_sub(NAMED_MAX) {
        named.push(format!("{more} more"));
    }
    listed(&named)
}

/// Culprits by what they are called, most first: threads, and timers, whose names differ in a number at their end
/// alone are one, with how many they are. Nobody has no name.
pub(super) fn by_name(
    worst: &WorstWakeup,
    cause: Cause,
    parts: &[(Culprit, u64)],
) -> Vec<(String, u64)> {
    let mut kinds: Vec<(String, Vec<Culprit>, u64)> = Vec::new();
    for (culprit, ns) in parts {
        let stem = match culprit {
            Culprit::Nobody => String::new(),
            Culprit::Task(_) | Culprit::Timer(..) => stem(&placed(worst, cause, *culprit)),
            _ => placed(worst, cause, *culprit),
        };
        let at = kinds.iter().position(|kind| kind.0 == stem).unwrap_or_else(|| {
            kinds.push((stem, Vec::new(), 0));
            kinds.len() - 1
        });
        kinds[at].2 += ns;
        if !kinds[at].1.contains(culprit) {
            kinds[at].1.push(*culprit);
        }
    }
    // Equal ones stay in order of time.
    kinds.sort_by_key(|(.., ns)| std::cmp::Reverse(*ns));
    let words = |(stem, culprits, ns): (String, Vec<Culprit>, u64)| match culprits[..] {
        [Culprit::Nobody] | [] => (String::new(), ns),
        [one] => (placed(worst, cause, one), ns),
        [first, ..] => {
            let what = if matches!(first, Culprit::Timer(..)) { "timers" } else { "threads" };
            let is_cut = culprits.iter().any(|culprit| placed(worst, cause, *culprit) != stem);
            let called = match stem.split_once(" (") {
                Some((owner, _)) if is_cut => format!("{owner}*"),
                None if is_cut => format!("{stem}*"),
                _ => stem,
            };
            (format!("{called} ({} {what})", culprits.len()), ns)
        }
    };
    kinds.into_iter().map(words).collect()
}

/// A name without the number at its end, where something is left; of `storm-1 (hrtimer_wakeup)` the name of the owner.
pub(super) fn stem(name: &str) -> String {
    let (owner, function) = name.split_once(" (").unwrap_or((name, ""));
    let owner = match owner.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "" => owner,
        stem => stem,
    };
    if function.is_empty() { owner.to_owned() } else { format!("{owner} ({function}") }
}

pub(super) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A priority as users set it: 1–99, or the kernel's own number of a thread that is not real-time.
pub(super) fn priority(prio: Prio) -> String {
    match prio.0 {
        ..0 => "SCHED_DEADLINE".to_owned(),
        realtime @ 0..100 => (99 - realtime).to_string(),
        fair => fair.to_string(),
    }
}

/// Seconds, to the nanosecond.
pub(super) fn time(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}
