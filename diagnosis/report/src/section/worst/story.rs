//! A wakeup in words.

use super::{CULPRITS_NAMED, PARTS_SHOWN, UNBROKEN, culprits_text, longest};
use crate::json::MergedSegment;
use crate::names::full_name;
use crate::palette::look;
use crate::units::{counted, duration};
use tardy_explain::{Explanation, Label, WorstWakeup};

/// "412.3 µs: cyclic-1 (4102) on CPU 1, 3.214567 s after the start".
pub(crate) fn headline(explanation: &Explanation, worst: &WorstWakeup) -> String {
    let wakeup = &worst.wakeup;
    let after_ns = wakeup.expiry_ns.saturating_sub(explanation.start_ns);
    let seconds = format!("{}.{:06}", after_ns / 1_000_000_000, after_ns / 1_000 % 1_000_000);
    let loss = if wakeup.touched_by_loss { "; near a loss of events" } else { "" };
    let pid = worst.victim.pid.unwrap_or(wakeup.task.0);
    format!(
        "{}: {} ({pid}) on CPU {}, {seconds} s after the start{loss}",
        duration(wakeup.lateness_ns),
        full_name(&worst.victim),
        wakeup.cpu,
    )
}

/// The parts with their letters, lengths and culprits, in order of time.
pub(super) fn parts(segments: &[MergedSegment<Label>]) -> String {
    let part = |segment: &MergedSegment<Label>| {
        let letter = look(segment.cause).letter;
        let who = culprits_text(segment, CULPRITS_NAMED);
        format!("{letter} {} {who}", duration(segment.ns)).replacen(' ', &UNBROKEN.to_string(), 3)
    };
    let (longest, others) = longest(segments, PARTS_SHOWN);
    let mut parts: Vec<String> = longest.into_iter().map(part).collect();
    if let Some((count, ns)) = others {
        parts.push(format!("{}, {} together", counted(count, "shorter part"), duration(ns)));
    }
    parts.join(" · ")
}
