//! What can go wrong before a guest runs.

use std::io;
use std::path::PathBuf;

/// Why there is no guest, or nothing of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VmError {
    /// A file or folder of this machine.
    #[error("cannot {what} {path}: {source}")]
    File {
        /// What was tried: `read`, `write`.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Something is not here that can be brought.
    #[error("{what} is not here; `{command}` brings it")]
    Missing {
        /// What, in words.
        what: String,
        /// The command.
        command: String,
    },
}

impl VmError {
    /// For `map_err`: what was tried with which file.
    pub fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { what, path, source }
    }
}
