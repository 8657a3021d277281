//! An experiment's results: the answer first, then whether to trust it, the figures, the comparisons,
//! and how all of it came about.
//!
//! Start reading at `part/mod.rs`, the parts in their order; `table/mod.rs` has a view for each kind
//! of table, which knows its plots too.

mod answer;
mod curves;
mod document;
mod grid;
mod measured;
mod part;
mod predicted;
mod quantile;
mod reported;
mod table;

pub(crate) use curves::curve_of;
pub use curves::curves_file;
pub use document::ExperimentDocument;
pub use predicted::{PredictedDocument, predicted_text};

use crate::clean::clean;
use crate::text::Terminal;
use maud::html;
use measured::Shown;
use part::PARTS;
use std::io::{self, Write};
use tardy_experiment::{Comparisons, Results};

/// What there is to show of an experiment.
#[derive(Clone, Copy, Debug)]
pub struct ExperimentData<'a> {
    /// What was measured.
    pub results: &'a Results,
    /// What may be said of it.
    pub comparisons: &'a Comparisons,
}

/// Writes an experiment's results as text.
///
/// # Errors
/// Where `out` cannot be written.
pub fn experiment_text(
    data: ExperimentData<'_>,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let terminal = terminal.clamped();
    let shown = Shown::new(data);
    let mut is_first = true;
    for part in PARTS {
        let mut text = Vec::new();
        part.terminal(&shown, terminal, &mut text)?;
        if text.is_empty() {
            continue;
        }
        if !is_first {
            writeln!(out)?;
        }
        is_first = false;
        out.write_all(&text)?;
    }
    Ok(())
}

/// An experiment's results as one HTML page that loads nothing.
pub fn experiment_page(data: ExperimentData<'_>) -> String {
    let shown = Shown::new(data);
    let title = clean(&data.results.experiment.title);
    crate::page::document(&title, &html! { @for part in PARTS { (part.html(&shown)) } })
}

/// What is said of an experiment in a sentence or two, most important first: its answer.
pub fn experiment_sentences(data: ExperimentData<'_>) -> Vec<String> {
    answer::sentences(&Shown::new(data))
}
