//! Why a file cannot be read.

use std::io;
use std::path::PathBuf;

/// Why a file cannot be read as a trace. What was yielded before stays good.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file cannot be opened or read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is in no format that is known.
    #[error("{path} is not a trace that tardy can read: its format is none of {formats}")]
    UnknownFormat {
        /// Which.
        path: PathBuf,
        /// The formats' names.
        formats: String,
    },
    /// It is a page in which there is no trace.
    #[error(
        "{path} is a page (HTML) without a kernel trace: it has neither `<script \
         class=\"trace-data\">` with events nor `linuxPerfData`"
    )]
    PageWithoutTrace {
        /// Which.
        path: PathBuf,
    },
    /// It holds no histograms that are known.
    #[error("{path} has no histograms that tardy can read: its format is none of {formats}")]
    UnknownHistogram {
        /// Which.
        path: PathBuf,
        /// What writes those that can be read.
        formats: String,
    },
    /// There is no format of that name.
    #[error("there is no format `{name}`: choose one of {formats}")]
    NoSuchFormat {
        /// The name.
        name: String,
        /// The formats' names.
        formats: String,
    },
    /// It is read by another program, which is not there or does not run.
    #[error("cannot read {path} by `{program}`: {why}")]
    Program {
        /// Which.
        path: PathBuf,
        /// The program.
        program: String,
        /// Why, and what to do about it.
        why: String,
    },
    /// Its times are counts, and nothing in it tells how long a count is.
    #[error(
        "{path} has no times: its clock gives plain numbers (`x86-tsc`, `counter`, `uptime` do), and \
         it does not show how long one is, which takes hrtimer_expire_entry events over at least 50 \
         ms among its first {} events; record with the clock `mono`",
        crate::text::FIRST_EVENTS_HELD_MAX
    )]
    CountsAlone {
        /// Which.
        path: PathBuf,
    },
    /// It is in a known format, and broken where nothing can be read without it.
    #[error("{path} is a broken {format} file: {why} (at byte {at})")]
    Broken {
        /// Which.
        path: PathBuf,
        /// The format's name.
        format: &'static str,
        /// Where, in bytes from its beginning.
        at: u64,
        /// What is wrong, and what to do about it where something can be done.
        why: String,
    },
}
