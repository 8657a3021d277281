//! The formats, a file each.
//!
//! A new format is one file here and one line in the registry, which also declares the file.

use crate::{About, Export, ExportError};
use std::path::Path;

/// A format that a recording can be exported to.
pub trait Format: Sync {
    /// Its name, as `--format` takes it.
    fn name(&self) -> &'static str;

    /// How its files' names end, without the dot; the first one is what a new file gets.
    fn endings(&self) -> &'static [&'static str];

    /// What is in it and what reads it, in one clause.
    fn meaning(&self) -> &'static str;

    /// Begins to write to `path`, a file or, where the format has several, a folder.
    ///
    /// # Errors
    /// Where it cannot be made.
    fn create(&self, path: &Path, about: &About) -> Result<Box<dyn Export>, ExportError>;
}

macro_rules! registry {
    ($($file:ident::$format:ident),* $(,)?) => {
        $(mod $file;)*

        /// Every format.
        pub const REGISTRY: &[&dyn Format] = &[$(&$file::$format),*];
    };
}

registry![
    perfetto::Perfetto,
    text::Text,
    parquet::Parquet,
    csv::Csv,
    duckdb::DuckDb,
    histogram::CyclictestHistogram,
    json::CyclictestJson,
    folded::Folded,
    flamegraph::FlameGraph,
];

/// The format of this name.
pub fn named(name: &str) -> Option<&'static dyn Format> {
    formats().find(|format| format.name() == name)
}

/// The format whose files' names end as this one does.
pub fn of_ending(path: &Path) -> Option<&'static dyn Format> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    formats().find(|format| format.endings().contains(&ending.as_str()))
}

/// Every format.
pub fn formats() -> impl Iterator<Item = &'static dyn Format> {
    REGISTRY.iter().copied()
}
