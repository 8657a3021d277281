//! `tardy vm`: a real kernel in counted time. A verb of it is a file here and a line in each list.

mod build;
mod fetch;
mod list;
mod run;
mod waiting;

use crate::failure::{Failure, Outcome};
use clap::{Args, Subcommand};

/// Flags of `tardy vm`.
#[derive(Debug, Args)]
pub(crate) struct Vm {
    #[command(subcommand)]
    verb: VmVerb,
}

/// What to do with guests.
#[derive(Debug, Subcommand)]
enum VmVerb {
    /// Run a command in a guest, and copy back what it records and writes
    Run(Box<run::Run>),
    /// List the kernels and programs for guests, and which of them are present
    List(list::List),
    /// Download Debian's kernels and programs for guests; nothing is installed on this system
    Fetch(fetch::Fetch),
    /// Compile tardy's own kernels for guests, which takes some minutes
    Build(build::Build),
}

impl Vm {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        match self.verb {
            VmVerb::Run(verb) => verb.execute(),
            VmVerb::List(verb) => verb.execute(),
            VmVerb::Fetch(verb) => verb.execute(),
            VmVerb::Build(verb) => verb.execute(),
        }
    }
}

/// A size on disk.
fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
