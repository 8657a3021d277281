//! The formats, a file each, and how one is found by what a file holds.
//!
//! A new format is one file here and one line in the registry, which also declares the file.

use crate::{Import, ImportError, Input, Options};
use std::path::Path;

/// A format of files that hold events.
pub trait Format: Sync {
    /// Its name, as `--format` takes it and manifests show it.
    fn name(&self) -> &'static str;

    /// What writes such files, in a few words.
    fn written_by(&self) -> &'static str;

    /// Whether a file that begins with `head` is of this format. Formats are asked in the registry's
    /// order, those with a signature first.
    fn recognises(&self, head: &[u8]) -> bool;

    /// Begins to read.
    ///
    /// # Errors
    /// Where something is missing without which nothing can be read.
    fn open(&self, input: Input, options: &Options) -> Result<Box<dyn Import>, ImportError>;
}

macro_rules! registry {
    ($($file:ident::$format:ident),* $(,)?) => {
        $(mod $file;)*

        /// Every format, in the order in which they are asked.
        pub const REGISTRY: &[&dyn Format] = &[$(&$file::$format),*];
    };
}

registry![
    trace_dat::TraceDat,
    perfetto::Perfetto,
    perf_data::PerfData,
    perf_script::PerfScript,
    ftrace_text::FtraceText,
];

/// Every format.
pub fn formats() -> impl Iterator<Item = &'static dyn Format> {
    REGISTRY.iter().copied()
}

/// The format of a file, where it is one of a trace's.
///
/// # Errors
/// Where the file cannot be read.
pub fn recognised(path: &Path) -> Result<Option<&'static dyn Format>, ImportError> {
    let input = Input::open(path)?;
    Ok(formats().find(|format| format.recognises(input.head())))
}

/// Opens a file and finds its format; with it, so that its name can be told.
///
/// # Errors
/// Where the file cannot be read, or is of no known format.
pub fn open(
    path: &Path,
    options: &Options,
) -> Result<(&'static dyn Format, Box<dyn Import>), ImportError> {
    read(Input::open_metered(path, options.meter.clone())?, options)
}

/// As [`open`], of a file that is open already.
///
/// # Errors
/// As [`open`].
pub fn read(
    input: Input,
    options: &Options,
) -> Result<(&'static dyn Format, Box<dyn Import>), ImportError> {
    let format = match &options.format {
        Some(name) => formats()
            .find(|format| format.name() == name)
            .ok_or_else(|| ImportError::NoSuchFormat { name: name.clone(), formats: names() })?,
        None => formats().find(|format| format.recognises(input.head())).ok_or_else(|| {
            if input.head().is_empty() && input.is_page() {
                return ImportError::PageWithoutTrace { path: input.path().to_owned() };
            }
            ImportError::UnknownFormat { path: input.path().to_owned(), formats: names() }
        })?,
    };
    Ok((format, format.open(input, options)?))
}

fn names() -> String {
    formats().map(Format::name).collect::<Vec<_>>().join(", ")
}
