//! The parts of an experiment's report, in their order. A new one is a file here and a line in the
//! registry, which also declares the file.

use super::measured::Shown;
use crate::text::Terminal;
use maud::Markup;
use std::io::{self, Write};

/// One part. It shows one thing in each medium, or nothing where there is nothing to show.
pub(super) trait Part: Sync {
    /// Writes it as lines of text; nothing at all to be left out.
    ///
    /// # Errors
    /// Where `out` cannot be written.
    fn terminal(
        &self,
        _shown: &Shown<'_>,
        _terminal: Terminal,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        Ok(())
    }

    /// Its markup, with its own heading; empty to be left out.
    fn html(&self, shown: &Shown<'_>) -> Markup;
}

macro_rules! registry {
    ($($file:ident::$part:ident),* $(,)?) => {
        $(mod $file;)*

        /// Every part, in the order in which they are shown.
        pub(super) const PARTS: &[&dyn Part] = &[$(&$file::$part),*];
    };
}

registry![
    head::Head,
    fitness::FitnessPart,
    plots::Plots,
    figures::Figures,
    comparisons::ComparisonsPart,
    conditions::Conditions,
    run::Run,
    notes::Notes,
];

pub(super) use comparisons::verdict;

/// Writes sentences, each wrapped and hanging.
fn write_sentences(
    sentences: &[String],
    terminal: Terminal,
    paint: impl Fn(&str) -> String,
    out: &mut dyn Write,
) -> io::Result<()> {
    for sentence in sentences {
        let options =
            textwrap::Options::new(terminal.width).initial_indent("  ").subsequent_indent("    ");
        for line in textwrap::wrap(sentence, options) {
            writeln!(out, "{}", paint(&line))?;
        }
    }
    Ok(())
}
