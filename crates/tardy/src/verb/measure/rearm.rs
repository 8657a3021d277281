//! `tardy measure rearm`: ways to move a timeout, side by side.

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::progress::Progress;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tardy_lab::rearm::{self, KNOWN, Pace, Plan};
use tardy_report::json::RearmDocument;
use tardy_report::{Terminal, rearm_text};

/// Flags of `tardy measure rearm`.
#[derive(Debug, Args)]
pub(super) struct Rearm {
    /// How long after the last move it expires; a bare number is µs
    #[arg(long, value_name = "TIME", default_value = "300us", value_parser = arguments::interval_ns)]
    timeout: u64,

    /// From one move to the next; a bare number is µs
    #[arg(long, value_name = "TIME", default_value = "20us", value_parser = arguments::interval_ns)]
    every: u64,

    /// How long it is moved, on average, before a pause in which it expires; a bare number is µs
    #[arg(long, value_name = "TIME", default_value = "2ms", value_parser = arguments::interval_ns)]
    pause_after: u64,

    /// How long all methods take together; a bare number is seconds
    #[arg(short = 'D', long, default_value = "9s", value_parser = arguments::duration)]
    duration: Duration,

    /// What the moving thread does between moves
    #[arg(long, value_enum, default_value_t = PaceFlag::Spin)]
    pace: PaceFlag,

    /// Chooses the pauses, and the order of the methods
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Write the result to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// A pace on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PaceFlag {
    Spin,
    Sleep,
}

impl Rearm {
    pub(super) fn execute(self) -> Result<Outcome, Failure> {
        let interrupt = Interrupt::catch()?;
        let plan = Plan {
            timeout_ns: self.timeout,
            every_ns: self.every,
            pause_after_ns: self.pause_after,
            duration: self.duration / KNOWN.len() as u32,
            pace: match self.pace {
                PaceFlag::Spin => Pace::Spin,
                PaceFlag::Sleep => Pace::Sleep,
            },
            seed: self.seed,
        };
        let running = rearm::start(&plan)?;
        let begun = Instant::now();
        let progress = Progress::new(Some(self.duration), self.output.quiet || self.output.json);
        while !running.wait(Duration::from_millis(100)) {
            if interrupt.is_asked() {
                running.stop();
            }
            progress.show(begun.elapsed(), String::new());
        }
        drop(progress);
        let measurement = running.finish()?;
        if self.output.json {
            output::write_json(&RearmDocument::from(&measurement), self.out.as_deref())?;
        } else {
            let terminal =
                if self.out.is_some() { Terminal::default() } else { Terminal::of_stdout() };
            let mut out = output::writer(self.out.as_deref())?;
            rearm_text(&measurement, terminal, &mut out)?;
            out.flush()?;
        }
        Ok(Outcome::Fine)
    }
}
