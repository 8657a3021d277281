//! What went wrong, as it is told to the user: what failed, where, what to do.

use std::fmt;
use std::io;

/// How a verb ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is well.
    Fine,
    /// A bound that the user set was exceeded.
    BoundExceeded,
    /// Whether a bound was exceeded cannot be told.
    Undecided,
}

/// Why a verb failed.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    status: u8,
    closed_pipe: bool,
}

impl Failure {
    /// Something could not be done.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: 1, closed_pipe: false }
    }

    /// What was asked for makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: 2, closed_pipe: false }
    }

    /// The same, with this behind its message.
    pub(crate) fn adding(mut self, text: &str) -> Self {
        self.message.push_str(text);
        self
    }

    pub(crate) fn status(&self) -> u8 {
        self.status
    }

    /// Whether the reader of our output has gone (`tardy … | head`): not worth a word.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.closed_pipe
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let closed_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        Self { message: format!("could not write the output: {error}"), status: 1, closed_pipe }
    }
}

/// Errors of the crates below say themselves what failed, where, and what to do.
macro_rules! from_errors {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::new(error.to_string())
            }
        }
    )*};
}
from_errors!(
    tardy_experiment::TruthError,
    tardy_export::ExportError,
    tardy_import::ImportError,
    tardy_lab::cyclic::CyclicError,
    tardy_lab::load::LoadError,
    tardy_lab::pi::PiError,
    tardy_lab::rearm::RearmError,
    tardy_remedy::RemedyError,
    tardy_recording::OpenError,
    tardy_recording::ReadError,
    tardy_recording::tables::TableError,
    tardy_recording::WriteError,
    tardy_model::SourceError,
);

impl From<tardy_lab::sleep::SleepError> for Failure {
    fn from(error: tardy_lab::sleep::SleepError) -> Self {
        match error {
            tardy_lab::sleep::SleepError::Unknown(_) => Self::usage(error.to_string()),
            error => Self::new(error.to_string()),
        }
    }
}

impl From<tardy_vm::VmError> for Failure {
    fn from(error: tardy_vm::VmError) -> Self {
        match error {
            tardy_vm::VmError::Unknown { .. } => Self::usage(error.to_string()),
            error => Self::new(error.to_string()),
        }
    }
}

impl From<tardy_experiment::ExperimentError> for Failure {
    fn from(error: tardy_experiment::ExperimentError) -> Self {
        match error {
            tardy_experiment::ExperimentError::Unknown { .. } => Self::usage(error.to_string()),
            error => Self::new(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}
