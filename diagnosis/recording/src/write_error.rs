//! Why a recording could not be made or could not go on.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What failed, where, and what to do. Cheap to clone: the writing thread meets it once, every
/// later call reports it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// There is something in the folder already.
    #[error("{dir} is not empty: name a new folder for the recording, or remove it")]
    Exists {
        /// The folder.
        dir: PathBuf,
    },
    /// A folder or file could not be made.
    #[error("cannot create {path}: {source}; {}", advice(source))]
    Create {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: Arc<io::Error>,
    },
    /// Events could not be written. Those written before stay and can be read.
    #[error(
        "cannot write to {path}: {source}; recording stopped there, everything recorded before \
         that can be read; {}",
        advice(source)
    )]
    Write {
        /// The segment file.
        path: PathBuf,
        /// Why.
        source: Arc<io::Error>,
    },
    /// All events are in place, but the manifest could not be completed: the recording can be read,
    /// and looks as if it had not been ended in good order.
    #[error(
        "cannot complete the manifest in {dir}: {source}; the events can be read; {}",
        advice(source)
    )]
    Manifest {
        /// The recording's folder.
        dir: PathBuf,
        /// Why.
        source: Arc<io::Error>,
    },
    /// The writing thread could not be started.
    #[error(
        "cannot start the writing thread: {source}; is there a limit on threads (ulimit -u, \
            pids.max)?"
    )]
    Thread {
        /// Why.
        source: Arc<io::Error>,
    },
    /// The writing thread died of a fault in tardy.
    #[error("the writing thread died: this is a bug in tardy, please report it")]
    Died,
}

impl WriteError {
    pub(crate) fn create(path: &Path, source: io::Error) -> Self {
        Self::Create { path: path.to_owned(), source: Arc::new(source) }
    }

    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.to_owned(), source: Arc::new(source) }
    }
}

fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space there or record to another disk"
        }
        io::ErrorKind::FileTooLarge => "raise the limit on file sizes (ulimit -f)",
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "name a folder that you may write to"
        }
        _ => "record to another disk",
    }
}
