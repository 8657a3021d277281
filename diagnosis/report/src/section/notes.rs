//! What the reader must know to judge the rest.

use super::Section;
use crate::clean::clean;
use crate::data::Data;
use crate::text::Terminal;
use crate::units::{count, counted, duration};
use maud::{Markup, html};
use std::io::{self, Write};
use tardy_explain::{Explanation, WaitKind, place_in_words};

pub(super) struct Notes;

impl Section for Notes {
    fn terminal(&self, data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        let notes = notes(data);
        if notes.is_empty() {
            return Ok(());
        }
        writeln!(out, "{}", terminal.bold("Notes"))?;
        for note in notes {
            let options = textwrap::Options::new(terminal.width)
                .initial_indent("  ")
                .subsequent_indent("    ");
            for line in textwrap::wrap(&note, options) {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }

    fn html(&self, data: &Data<'_>) -> Markup {
        let notes = notes(data);
        html! {
            @if !notes.is_empty() {
                section #notes {
                    h2 { "Notes" }
                    ul { @for note in notes { li { (note) } } }
                }
            }
        }
    }
}

/// Waits, discarded wakeups, clocks, and limits that were reached.
fn limits(explanation: &Explanation, notes: &mut Vec<String>) {
    for wait in explanation.waits.iter().filter(|wait| wait.kind != WaitKind::Timer) {
        let longest = &wait.longest;
        let by = match clean(&longest.ended_by.name) {
            name if name.is_empty() => String::new(),
            name => format!(", ended by {name}"),
        };
        let place = match clean(&place_in_words(&longest.slept_in)) {
            place if place.is_empty() => place,
            place => format!(" in {place}"),
        };
        notes.push(format!(
            "{} {}, {} in total; the longest took {} ({}{place}{by}). Waits do not count as lateness.",
            counted(wait.count, "wait"),
            wait.kind.words(),
            duration(wait.ns),
            duration(longest.ns),
            clean(&longest.victim.name),
        ));
    }
    for (reason, n) in &explanation.discarded {
        let are = if *n == 1 { "is" } else { "are" };
        notes.push(format!("{} {are} left out: {}.", counted(*n, "wakeup"), reason.words()));
    }
    let skew = explanation.skew;
    if skew.ns > 0 {
        notes.push(format!(
            "The clocks of CPU {} and CPU {} differ by at least {}: in {} a thread ran before \
             the event that woke it. Segments that cross CPUs may be wrong by that much.",
            skew.cpus.0,
            skew.cpus.1,
            duration(skew.ns),
            counted(skew.times, "case"),
        ));
    }
    for set in &explanation.clocks_set {
        let (direction, effect) = match set.by_ns {
            ..0 => ("back", " Sleeps by it that ended in that time may count as late by as much."),
            _ => ("forward", " Timers that became due because of it count as late from then on."),
        };
        notes.push(format!(
            "CLOCK_REALTIME was set {direction} by {}, at a time known to {}.{effect}",
            duration(set.by_ns.unsigned_abs()),
            duration(set.until_ns.saturating_sub(set.since_ns)),
        ));
    }
    for bound in &explanation.bounds {
        let of = match bound.of {
            "" => String::new(),
            noun => format!(" in {}", counted(bound.count, noun)),
        };
        notes.push(format!("A limit of {} was reached{of}: {}.", count(bound.limit), bound.what));
    }
}

/// Clean sentences.
pub(crate) fn notes(data: &Data<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(explanation) = data.explanation {
        let events = counted(explanation.events, "event");
        if explanation.lost == 0 {
            notes.push(format!("{events} read, none lost."));
        } else {
            let near = explanation.near_loss;
            let are = if near == 1 { "is" } else { "are" };
            notes.push(format!(
                "{events} read, {} lost. {} {are} near a loss and may lack a culprit.",
                count(explanation.lost),
                counted(near, "wakeup"),
            ));
        }
    }
    if let Some(explanation) = data.explanation {
        limits(explanation, &mut notes);
    }
    if let Some(recording) = &data.context.recording {
        notes.push(format!("The recording is {}.", clean(&recording.to_string_lossy())));
    }
    let own = data.measurement.into_iter().flat_map(|measurement| &measurement.notes);
    // What a measurement says of itself is in its recording too.
    let own = own.filter(|note| !data.context.notes.contains(note));
    notes.extend(data.context.notes.iter().chain(own).map(|note| clean(note)));
    notes
}
