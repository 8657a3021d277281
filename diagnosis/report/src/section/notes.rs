//! What the reader must know to judge the rest.

use super::Section;
use crate::clean::clean;
use crate::data::Data;
use crate::text::Terminal;
use crate::units::{count, counted};
use maud::{Markup, html};
use std::io::{self, Write};

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

/// Clean sentences.
fn notes(data: &Data<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(explanation) = data.explanation {
        let events = counted(explanation.events, "event");
        if explanation.lost == 0 {
            notes.push(format!("{events} read, none lost."));
        } else {
            let touched = explanation.touched_by_loss;
            let may = if touched == 1 { "is" } else { "are" };
            notes.push(format!(
                "{events} read, {} lost. {} {may} near a loss: what they say may lack a culprit.",
                count(explanation.lost),
                counted(touched, "wakeup"),
            ));
        }
    }
    if let Some(recording) = &data.context.recording {
        notes.push(format!("The recording is {}.", clean(&recording.to_string_lossy())));
    }
    let own = data.measurement.into_iter().flat_map(|measurement| &measurement.notes);
    notes.extend(data.context.notes.iter().chain(own).map(|note| clean(note)));
    notes
}
