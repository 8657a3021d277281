//! The parts of a report, in their order. A new one is a file here and a line in the
//! registry, which also declares the file.

use crate::data::Data;
use crate::text::Terminal;
use maud::Markup;
use std::io::{self, Write};

/// One part of a report. It shows one finding in each medium, or nothing where there is nothing to
/// show or where the medium is not fit for it.
pub(crate) trait Section: Sync {
    /// Writes it as lines of text; nothing at all to be left out.
    ///
    /// # Errors
    /// Where `out` cannot be written.
    fn terminal(
        &self,
        _data: &Data<'_>,
        _terminal: Terminal,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        Ok(())
    }

    /// Its markup, with its own heading; empty to be left out. The page allows no `style`
    /// attribute, no event handler and no script of a section's own.
    fn html(&self, _data: &Data<'_>) -> Markup {
        Markup::default()
    }
}

macro_rules! registry {
    ($($file:ident::$section:ident),* $(,)?) => {
        $(mod $file;)*

        /// Every section, in the order in which they are shown.
        pub(crate) const SECTIONS: &[&dyn Section] = &[$(&$file::$section),*];
    };
}

pub(crate) use advice::{Lines, advice, heading as advice_heading, lines as advice_lines};
pub(crate) use causes::{CAUSE_COLUMNS, shares, worst_shares};
pub(crate) use culprits::Ranking;
pub(crate) use lateness::{Figure, figures};
pub(crate) use notes::notes;
pub(crate) use victims::numbers as latency_numbers;
pub(crate) use worst::{GroupNames, headline, merged, summary, sums};

/// The table of timers alone.
///
/// # Errors
/// Where `out` cannot be written.
pub(crate) fn timers(data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    timers::Timers.terminal(data, terminal, out)
}

registry![
    header::Header,
    advice::Advice,
    predicted::Predicted,
    lateness::Lateness,
    measurement::MeasurementTable,
    causes::Causes,
    culprits::Culprits,
    histogram::LatenessHistogram,
    percentiles::Percentiles,
    victims::Victims,
    timers::Timers,
    worst::Worst,
    patterns::Patterns,
    notes::Notes,
];
