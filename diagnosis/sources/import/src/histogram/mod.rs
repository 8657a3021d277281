//! Histograms of latencies that other tools wrote; a file per format.
//!
//! [`open`] finds the format by what a file holds. All of them become [`Histograms`]: a row per
//! thread, CPU or column, with bins and what the tool itself says of minimum, mean and maximum.
//! Nothing is made up: what a file does not tell is `None`, and where its parts contradict each other
//! a note says so.
//!
//! A new format is one file here and one line in the registry, which also declares the file.

mod lines;
mod row;
mod rt_tests_json;
mod rtla;

pub use row::{Histograms, Row};

use crate::{ImportError, Input};
use std::path::Path;

/// The most bins with a count, over all rows. Ordinary files have some thousands.
pub const BINS_MAX: usize = 1 << 22;

/// The most rows: threads, or columns.
pub const ROWS_MAX: usize = 1 << 13;

/// A format of files that hold histograms.
pub trait Format: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// What writes such files, in a few words.
    fn written_by(&self) -> &'static str;

    /// Whether a file that begins with `head` is of this format. Formats are asked in the registry's
    /// order.
    fn recognises(&self, head: &[u8]) -> bool;

    /// Reads all of it.
    ///
    /// # Errors
    /// Where it is broken, or beyond a bound.
    fn read(&self, input: Input) -> Result<Histograms, ImportError>;
}

macro_rules! registry {
    ($($file:ident::$format:ident),* $(,)?) => {
        $(mod $file;)*

        /// Every format, in the order in which they are asked.
        pub const REGISTRY: &[&dyn Format] = &[$(&$file::$format),*];
    };
}

registry![
    cyclictest_json::CyclictestJson,
    oslat_json::OslatJson,
    rtla_timerlat::RtlaTimerlat,
    rtla_osnoise::RtlaOsnoise,
    oslat::Oslat,
    hwlatdetect::Hwlatdetect,
    cyclictest::Cyclictest,
    cyclictest_summary::CyclictestSummary,
];

/// Every format.
pub fn formats() -> impl Iterator<Item = &'static dyn Format> {
    REGISTRY.iter().copied()
}

/// The format of a file, where it holds histograms that are known.
///
/// # Errors
/// Where the file cannot be read.
pub fn recognised(path: &Path) -> Result<Option<&'static dyn Format>, ImportError> {
    let input = Input::open(path)?;
    Ok(formats().find(|format| format.recognises(input.head())))
}

/// Reads a file whose format is found by its content.
///
/// # Errors
/// Where the file cannot be read, is of no known format, or is broken.
pub fn open(path: &Path) -> Result<Histograms, ImportError> {
    read(Input::open(path)?)
}

/// As [`open`], of a file that is open already.
///
/// # Errors
/// As [`open`].
pub fn read(input: Input) -> Result<Histograms, ImportError> {
    let format = formats().find(|format| format.recognises(input.head())).ok_or_else(|| {
        let formats: Vec<_> = formats().map(Format::written_by).collect();
        ImportError::UnknownHistogram { path: input.path().to_owned(), formats: formats.join(", ") }
    })?;
    let path = input.path().to_owned();
    let mut histograms = format.read(input)?;
    if let Some(row) = histograms.rows.iter().find(|row| !row.is_countable()) {
        return Err(ImportError::Broken {
            path,
            format: format.name(),
            at: 0,
            why: format!("the counts of {} add up to more than 2^64", row.name),
        });
    }
    histograms.check();
    Ok(histograms)
}
