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
    /// Something that the format needs is not there.
    #[error("{0}")]
    Needs(String),
}
