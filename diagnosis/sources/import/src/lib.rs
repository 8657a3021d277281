//! Events and histograms from files that other tools wrote; a file per format.
//!
//! [`open`] finds the format by what a file holds, not by its name, and yields the same events as any
//! other source, in time order, in bounded memory. What a format or a trace does not hold leads to
//! fewer causes, never to wrong ones: [`Closing::missing`] says what it was, when the trace has been
//! read.
//!
//! Start reading at [`mod@format`], then any file under `format/`; for histograms at [`histogram`].
#![forbid(unsafe_code)]

mod error;
pub mod format;
pub mod histogram;
mod input;
mod stamps;
mod text;

pub use error::ImportError;
pub use format::{Format, formats, open, read};
pub use input::{Contents, ContentsReader, HEAD_BYTES, Input, Meter};
pub use tardy_kernel::Abi;

use std::sync::Arc;
use tardy_model::Source;

/// What a reader cannot find out from the file.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The format's name, where it is not to be found by content.
    pub format: Option<String>,
    /// How system calls are numbered, where neither the file nor its calls' arguments tell.
    pub abi: Option<Abi>,
    /// Counts what is read, where somebody waits for it.
    pub meter: Arc<Meter>,
}

/// A file being read.
pub trait Import: Source {
    /// What the file says of its origin. Complete once the first batch has been read.
    fn origin(&self) -> Origin;

    /// What can be said when all has been read, or reading has stopped.
    fn closing(&mut self) -> Closing;
}

/// Where a trace comes from, as far as its file tells; what it does not is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The clock of its times, as the kernel's `trace_clock` names it; empty where it is not told.
    pub clock: String,
    /// The machine's name.
    pub host: String,
    /// `uname -r` there.
    pub kernel_release: String,
    /// `uname -m` there.
    pub machine: String,
    /// Its CPUs.
    pub cpus: u32,
    /// Its tick rate per second; 0 where it is not told.
    pub hz: u32,
    /// The program that wrote the file, with its version.
    pub written_by: String,
}

impl Closing {
    /// A sentence on how many events of the file tell nothing; `kinds` are the names of some, with how many
    /// there were.
    pub(crate) fn of_silent(&self, kinds: &[(String, u64)]) -> Option<String> {
        let (events, silent) = (self.events, self.silent);
        let some: Vec<String> =
            kinds.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let some = if some.is_empty() { String::new() } else { format!(" ({})", some.join(", ")) };
        let are = if silent == 1 { "is of a kind that means" } else { "are of kinds that mean" };
        (silent > 0)
            .then(|| format!("{silent} of the file's {events} events {are} nothing here{some}"))
    }
}

/// What is known of a trace when all of it has been read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closing {
    /// How many events the file holds, whatever they tell.
    pub events: u64,
    /// How many of them are of kinds that mean nothing here, or could not be read.
    pub silent: u64,
    /// What it cannot show, a sentence each.
    pub missing: Vec<String>,
    /// What a reader should know besides, a sentence each: where the file was cut short, how times
    /// were rounded, lines that could not be read.
    pub notes: Vec<String>,
}
