//! Why an export cannot be written.

use std::io;
use std::path::PathBuf;

/// Why an export cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A file cannot be made or written.
    #[error("could not write {path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] tardy_recording::tables::TableError),
    /// Something that the format needs is not there.
    #[error("{0}")]
    Needs(String),
}

impl ExportError {
    /// That `path` cannot be written.
    pub(crate) fn io(path: &std::path::Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}
