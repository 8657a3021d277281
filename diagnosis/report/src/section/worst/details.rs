//! Where a wakeup waited again, for whom, and how it was led to.

use super::UNBROKEN;
use crate::clean::clean;
use crate::names::full_name;
use crate::units::duration;
use crate::why::offset;
use tardy_explain::{WorstWakeup, place_in_words};
use tardy_model::event::futex;
use tardy_model::{BlockedOn, Boost, Culprit, Link, Prio, Stretch, StretchKind, TaskId};

/// Parts of one line; more are counted.
const PARTS_MAX: usize = 12;

/// Lines about a wakeup's stretches, boosts and wakers: a heading and what it is, each only where there
/// is anything. Clean.
pub(super) fn lines(worst: &WorstWakeup) -> Vec<(&'static str, String)> {
    let wakeup = &worst.wakeup;
    let stretches = wakeup.stretches.iter().map(|stretch| stretch_words(worst, stretch));
    let boosts = wakeup.boosts.iter().map(|boost| boost_words(worst, boost));
    let chain = wakeup.chain.iter().map(|link| link_words(worst, link));
    let call = wakeup
        .lock
        .iter()
        .map(|call| format!("FUTEX_{} of the futex at {:#x}", futex::name(call.op), call.address));
    let lines = [
        ("call", joined(call.collect(), " · ")),
        ("in turn", joined(stretches.collect(), " · ")),
        ("priorities", joined(boosts.collect(), " · ")),
        ("woken by", joined(chain.collect(), " ← ")),
    ];
    lines.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// What the victim did in a stretch: "blocked (S) on futex 0x2d04, held by low".
pub(super) fn label(worst: &WorstWakeup, stretch: &Stretch) -> String {
    match stretch.kind {
        StretchKind::Wakeup => "woken".to_owned(),
        StretchKind::Kernel => "in the kernel".to_owned(),
        StretchKind::Blocked { state, on, holder } => {
            let on = match on {
                BlockedOn::Unknown => String::new(),
                BlockedOn::Futex(address) => format!(" on futex {address:#x}"),
                BlockedOn::KernelLock => " on a kernel lock".to_owned(),
                BlockedOn::Page => " on a page".to_owned(),
            };
            let held = match (on.is_empty(), holder) {
                (_, TaskId::IDLE) => String::new(),
                (true, holder) => format!(", ended by {}", task(worst, holder)),
                (false, holder) => format!(", held by {}", task(worst, holder)),
            };
            let place = match worst.label(Culprit::Function(stretch.stack)).name {
                frames if frames.is_empty() => frames,
                frames => format!(" in {}", clean(&place_in_words(&frames))),
            };
            format!("blocked ({}){on}{place}{held}", state.letter())
        }
    }
}

fn stretch_words(worst: &WorstWakeup, stretch: &Stretch) -> String {
    format!("{} {}", duration(stretch.ns), label(worst, stretch))
}

/// "+19.0 µs high lends low 59 (had 120) while trace-cmd runs".
pub(super) fn boost_words(worst: &WorstWakeup, boost: &Boost) -> String {
    let (at, target) = (offset(worst, boost.time_ns), task(worst, boost.target));
    let unlock = if boost.in_unlock { " in its unlock" } else { "" };
    if boost.released {
        let to = if boost.from == boost.to {
            "loses the priority that it was lent".to_owned()
        } else {
            format!("back to {}", prio(boost.to))
        };
        return format!("{at} {target} {to}{unlock}");
    }
    let instead = boost
        .instead
        .map_or_else(String::new, |instead| format!(" while {} runs", task(worst, instead)));
    let (by, to, from) = (task(worst, boost.by), prio(boost.to), prio(boost.from));
    format!("{at} {by} lends {target} {to} (had {from}){unlock}{instead}")
}

fn link_words(worst: &WorstWakeup, link: &Link) -> String {
    let how = if link.started { "started by " } else { "" };
    let work = worst.label(Culprit::Function(link.work));
    let work =
        if work.name.is_empty() { String::new() } else { format!(" for {}", full_name(&work)) };
    format!("{how}{}{work} ({})", full_name(&worst.label(link.by)), offset(worst, link.time_ns))
}

fn task(worst: &WorstWakeup, task: TaskId) -> String {
    full_name(&worst.label(Culprit::Task(task)))
}

/// As people set it: 1–99 of real-time threads, the kernel's own number of others.
fn prio(prio: Prio) -> String {
    match prio.0 {
        realtime @ 0..100 => (99 - realtime).to_string(),
        other => other.to_string(),
    }
}

fn joined(mut parts: Vec<String>, between: &str) -> String {
    let more = parts.len().saturating_sub(PARTS_MAX);
    parts.truncate(PARTS_MAX);
    if more > 0 {
        parts.push(format!("{more} more"));
    }
    // A duration and what follows it stay on one line.
    let parts: Vec<String> =
        parts.iter().map(|part| part.replacen(' ', &UNBROKEN.to_string(), 2)).collect();
    parts.join(between)
}
