//! `tardy doctor`: what this system can do, and what to change.

use crate::failure::{Failure, Outcome};
use crate::output::{self, Output};
use crate::session;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use tardy_host::doctor;
use tardy_report::Terminal;

/// Flags of `tardy doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    output: Output,

    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Doctor {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        let host = session::probe_host();
        if self.output.json {
            output::write_json(&host, self.out.as_deref())?;
        } else {
            let terminal = match self.out {
                None => Terminal::of_stdout(),
                Some(_) => Terminal::default(),
            };
            let mut out = output::writer(self.out.as_deref());
            write!(out, "{}", doctor::render(&host, terminal.width, terminal.colour))?;
            out.finish()?;
        }
        Ok(Outcome::Fine)
    }
}
