//! Why a mutex could not be made or locked.

use std::io;
use thiserror::Error;

/// Why a mutex could not be made or locked.
#[derive(Debug, Error)]
pub enum MutexError {
    /// The C library or the kernel does not offer what was asked for.
    #[error("this C library or kernel does not offer {what} ({source}); choose another protocol")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
        /// What was said, `ENOTSUP` or `EINVAL` mostly.
        source: io::Error,
    },
    /// A mutex could not be made.
    #[error("a mutex could not be made ({0})")]
    Init(io::Error),
    /// A mutex could not be locked: `EINVAL` where the caller's priority is above the ceiling or, in
    /// glibc, not a real-time one, `EPERM` where it may not rise to it, `EAGAIN` or `ENOTRECOVERABLE`
    /// where the kernel could not follow its owner.
    #[error(
        "a mutex could not be locked ({0}); with a priority ceiling, a thread needs a real-time \
         priority up to the ceiling, and the permission to rise to it"
    )]
    Lock(io::Error),
}

/// The pthread functions return their error instead of leaving it in `errno`.
pub(crate) fn checked(status: libc::c_int) -> Result<(), io::Error> {
    if status == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(status)) }
}
