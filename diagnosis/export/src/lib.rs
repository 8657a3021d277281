//! Recordings and their explanations as files for other tools; a file per format.
//!
//! An [`Export`] is handed the batches of a stream in order, and each wakeup as the explainer makes it
//! final, which may be a second of stream time after its events. It writes as it goes, in bounded
//! memory.
//!
//! Start reading at [`mod@format`], then any file under `format/`.
#![forbid(unsafe_code)]

mod cause_stacks;
mod error;
mod event_row;
pub mod format;
mod latencies;
mod names;
mod output;
mod rows;

pub use error::ExportError;
pub use event_row::{EVENT_COLUMNS, EventColumn};
pub use format::{Format, formats, named, of_ending};
pub use rows::{Row, WakeupRows};

use tardy_explain::{Explanation, Named};
use tardy_model::Batch;

/// Where a stream comes from, for formats that say so in their file.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The machine's name.
    pub host: String,
    /// `uname -r` there.
    pub kernel_release: String,
    /// `uname -m` there.
    pub machine: String,
    /// Its CPUs.
    pub cpus: u32,
    /// The clock of all times, as manifests name it; empty where it is not known.
    pub clock: String,
    /// Its ticks per second, where they are known.
    pub hz: Option<u32>,
    /// The program that exports, with its version.
    pub written_by: String,
    /// In texts for spreadsheets no name is to be taken for a formula.
    pub no_formulas: bool,
}

impl About {
    /// The clock of all times as the kernel's `trace_clock` names it, or `unknown`.
    pub(crate) fn clock_name(&self) -> &str {
        match self.clock.as_str() {
            "CLOCK_MONOTONIC" => "mono",
            "" => "unknown",
            other => other,
        }
    }
}

/// A file, or a folder, that is being written.
pub trait Export {
    /// The next events, with the definitions they need.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn batch(&mut self, _batch: &Batch) -> Result<(), ExportError> {
        Ok(())
    }

    /// A wakeup, with names.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn wakeup(&mut self, _wakeup: &Named<'_>) -> Result<(), ExportError> {
        Ok(())
    }

    /// All has been handed over: writes what is left.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn finish(self: Box<Self>, explanation: &Explanation) -> Result<(), ExportError>;
}
