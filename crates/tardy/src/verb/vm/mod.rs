//! `tardy vm`: guests in counted time.
#![allow(clippy::doc_markdown)]

mod run;

use crate::failure::{Failure, Outcome};
use clap::{Args, Subcommand};

/// Flags of `tardy vm`.
#[derive(Debug, Args)]
pub(crate) struct Vm {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Run a command in a guest
    Run(Box<run::Run>),
}

impl Vm {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        match self.what {
            What::Run(verb) => verb.execute(),
        }
    }
}
