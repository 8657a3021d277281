//! What can go wrong before a guest runs.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

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
    #[error("{what} is not present; get it with `{command}`")]
    Missing {
        /// What, in words.
        what: String,
        /// The command.
        command: String,
    },
    /// Something is here, and is no longer what it would be if it were brought now.
    #[error("{what} is stale: {why}; get it again with `{command}`")]
    Stale {
        /// What, in words.
        what: String,
        /// What has changed since.
        why: &'static str,
        /// The command.
        command: String,
    },
    /// A file is not what was brought.
    #[error("{path} {why}; get it again with `{command}`")]
    Changed {
        /// Which.
        path: PathBuf,
        /// In which way.
        why: String,
        /// The command.
        command: String,
    },
    /// A name that nothing here has.
    #[error("there is no {what} {name:?}; there are {known}")]
    Unknown {
        /// What was named.
        what: &'static str,
        /// By which name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Neither `XDG_CACHE_HOME` nor `HOME` says where to keep things.
    #[error("no folder for kernels: set HOME, or XDG_CACHE_HOME to an absolute path")]
    NoHome,
    /// Others' programs or packages that have to be installed first.
    #[error("cannot {what} without {missing}; {advice}")]
    Needs {
        /// What they are for.
        what: String,
        /// Which, in words.
        missing: String,
        /// What to do.
        advice: String,
    },
    /// A program that was run failed.
    #[error("cannot {what}: {program} ended with {ended}{said}")]
    Failed {
        /// What it was run for.
        what: String,
        /// Which program.
        program: String,
        /// `exit status: 1` and the like.
        ended: String,
        /// What it said last, with a colon before it, or where to read it.
        said: String,
    },
    /// A program that was run took too long and was ended.
    #[error("cannot {what}: {program} was not done after {limit:?} and was ended")]
    TooLong {
        /// What it was run for.
        what: String,
        /// Which program.
        program: String,
        /// How long it had.
        limit: Duration,
    },
    /// Another process holds the folder.
    #[error("another tardy used {path} for {waited:?}; wait until it has ended, then try again")]
    InUse {
        /// Which folder.
        path: PathBuf,
        /// How long this one waited.
        waited: Duration,
    },
    /// What Debian delivered is not as it always was.
    #[error("cannot use {package}: {why}")]
    Package {
        /// Which.
        package: String,
        /// What it lacks.
        why: String,
    },
    /// The kernel's own configuration refused options.
    #[error("the kernel's configuration did not take {options}; see {path}")]
    Config {
        /// Lines of the fragment that have no effect.
        options: String,
        /// The configuration that came out.
        path: PathBuf,
    },
    /// A program that cannot be taken into a guest.
    #[error("cannot take {path} into a guest: {why}")]
    Program {
        /// Which.
        path: PathBuf,
        /// Why not.
        why: String,
    },
}

impl VmError {
    /// For `map_err`: what was tried with which file.
    pub fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { what, path, source }
    }

    /// The command that helps, where there is one.
    pub fn command(&self) -> Option<&str> {
        match self {
            Self::Missing { command, .. }
            | Self::Stale { command, .. }
            | Self::Changed { command, .. } => Some(command),
            _ => None,
        }
    }
}
