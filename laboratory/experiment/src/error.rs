//! Why an experiment cannot go on.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why an experiment could not be read, run or kept.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// There is none of that name.
    #[error("there is no experiment `{name}`; there are: {known}; or name a TOML file")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The experiment makes no sense.
    #[error("{origin} is not a valid experiment: {why}")]
    Wrong {
        /// The file, or the name.
        origin: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// A file of the folder could not be read.
    #[error("could not read {path}: {source}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of the folder is not what it should be.
    #[error("{path} is not part of an experiment's folder: {why}")]
    Garbled {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Something could not be written. Blocks done before are kept.
    #[error(
        "could not write {path}: {source}; finished blocks are kept, and --resume continues the \
         run"
    )]
    Write {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder for a new run has something in it.
    #[error(
        "{path} is not empty: name a new folder, or go on with what is in it by --resume {path}"
    )]
    NotEmpty {
        /// Which.
        path: PathBuf,
    },
    /// Another run adds to it.
    #[error("another run writes to {path}: wait for its end, or end it")]
    Busy {
        /// Which.
        path: PathBuf,
    },
    /// The machine is another than the one it was begun on.
    #[error(
        "{path} was begun {begun}, but this is {here}: blocks of both cannot form one run; begin \
         a new run here, and compare the two folders"
    )]
    OtherMachine {
        /// The folder.
        path: PathBuf,
        /// On which machine.
        begun: String,
        /// And which this is.
        here: String,
    },
    /// No condition can be run here.
    #[error("{name}: none of its conditions can be run here: {why}")]
    NothingLeft {
        /// The experiment.
        name: String,
        /// Which is left out for what.
        why: String,
    },
    /// A block could not be measured. Blocks done before are kept.
    #[error(
        "block {block} ({condition}) could not be measured: {why}; finished blocks are kept, and \
         --resume continues the run"
    )]
    Block {
        /// Which, from 0.
        block: usize,
        /// Of which condition.
        condition: String,
        /// Why.
        why: String,
    },
}

impl ExperimentError {
    pub(crate) fn read(path: &Path, source: &io::Error) -> Self {
        Self::Read { path: path.to_owned(), source: same(source) }
    }

    pub(crate) fn write(path: &Path, source: &io::Error) -> Self {
        Self::Write { path: path.to_owned(), source: same(source) }
    }

    pub(crate) fn garbled(path: &Path, why: String) -> Self {
        Self::Garbled { path: path.to_owned(), why }
    }
}

fn same(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(
        || io::Error::new(error.kind(), error.to_string()),
        io::Error::from_raw_os_error,
    )
}
