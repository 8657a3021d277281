//! What a reader must know besides.

use super::{Part, write_sentences};
use crate::clean::clean;
use crate::experiment::measured::Shown;
use crate::text::Terminal;
use crate::units::unbroken;
use maud::{Markup, html};
use std::io::{self, Write};

pub(super) struct Notes;

impl Part for Notes {
    fn terminal(
        &self,
        shown: &Shown<'_>,
        terminal: Terminal,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let notes = notes(shown);
        if notes.is_empty() {
            return Ok(());
        }
        writeln!(out, "{}", terminal.bold("Notes"))?;
        write_sentences(&notes, terminal, str::to_owned, out)
    }

    fn html(&self, shown: &Shown<'_>) -> Markup {
        let notes = notes(shown);
        html! {
            @if !notes.is_empty() {
                section #notes {
                    h2 { "Notes" }
                    ul { @for note in notes { li { (unbroken(&note)) } } }
                }
            }
        }
    }
}

fn notes(shown: &Shown<'_>) -> Vec<String> {
    shown.results.notes.iter().map(|note| clean(note)).collect()
}
