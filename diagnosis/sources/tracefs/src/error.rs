//! Why recording through tracefs failed.

use std::io;
use std::path::PathBuf;
use tardy_ftrace::page::LayoutError;

/// Why recording through tracefs failed: what, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not allowed.
    #[error(
        "{path}: permission denied; recording through tracefs needs root, or read and write access to tracefs"
    )]
    Permission {
        /// Which file.
        path: PathBuf,
    },
    /// The kernel has no tracefs, or it could not be mounted.
    #[error(
        "tracefs is not mounted and could not be mounted ({source}); as root, try `mount -t tracefs nodev /sys/kernel/tracing`, which needs a kernel with CONFIG_TRACING"
    )]
    NoTracefs {
        /// What the kernel said.
        source: io::Error,
    },
    /// A file of tracefs could not be read or written.
    #[error("{path}: could not {action}: {source}")]
    File {
        /// What was tried: "read", "write `mono`".
        action: String,
        /// Which file, below tracefs.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel's buffer has a layout that cannot be read.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// None of the events of the scheduler can be had.
    #[error(
        "this kernel's tracefs has none of the events under events/sched (built without CONFIG_EVENT_TRACING?); only a measurement without explanation is possible"
    )]
    NoEvents,
}

impl Error {
    /// An error of one file, with permission told apart.
    pub(crate) fn file(
        action: impl Into<String>,
        path: impl Into<PathBuf>,
        source: io::Error,
    ) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::Permission { path },
            _ => Self::File { action: action.into(), path, source },
        }
    }
}
