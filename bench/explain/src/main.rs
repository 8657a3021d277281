//! Long recordings, and how fast they are read and explained. `bench/explain.py` runs this and
//! prints the table; each measurement is a process of its own, so that its peak memory is its own.
#![forbid(unsafe_code)]

mod lengthen;
mod synthetic;
mod timed;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Makes long recordings, and times how fast they are read and explained.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Write a recording of EVENTS events or a few more, by repeating REC
    Lengthen {
        rec: PathBuf,
        out: PathBuf,
        #[arg(long, default_value_t = 50_000_000)]
        events: u64,
    },
    /// Write a recording of made-up events, for who may not record
    Synthetic {
        out: PathBuf,
        #[arg(long, default_value_t = 1_000_000)]
        events: u64,
    },
    /// Explain REC again and again in this process, each time later, until there were EVENTS events; prints one
    /// line of JSON, with the most memory that a tenth of them and all took
    Repeated {
        rec: PathBuf,
        /// Explain every thread's wakeups, not only those that were to be watched
        #[arg(long)]
        all: bool,
        #[arg(long, default_value_t = 1_000_000_000)]
        events: u64,
    },
    /// Read REC and explain it in this process; prints one line of JSON
    Timed {
        rec: PathBuf,
        /// Explain every thread's wakeups, not only those that were to be watched
        #[arg(long, conflicts_with = "read_only")]
        all: bool,
        /// Only read
        #[arg(long)]
        read_only: bool,
        /// Write the tables of wakeups and segments to this folder meanwhile
        #[arg(long, conflicts_with = "read_only")]
        tables: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let done = match Cli::parse().step {
        Step::Lengthen { rec, out, events } => lengthen::lengthen(&rec, &out, events),
        Step::Synthetic { out, events } => synthetic::write(&out, events),
        Step::Repeated { rec, all, events } => timed::repeated(&rec, all, events),
        Step::Timed { rec, read_only: true, .. } => timed::reading(&rec),
        Step::Timed { rec, all, tables, .. } => timed::explaining(&rec, all, tables.as_deref()),
    };
    match done {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("explain bench: {error}");
            ExitCode::FAILURE
        }
    }
}
