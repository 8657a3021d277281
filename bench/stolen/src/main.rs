//! Both sides of what a hypervisor steals: what a thread that never stops reading the clock sees, and where
//! tardy says that the CPU was stopped. `bench/stolen.py` runs this, compares the two and prints the table.
#![forbid(unsafe_code)]

mod spin;
mod stretches;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// What a spinning thread sees of stolen time, and what a recording says of it.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Read the clock without a pause on one CPU, with real-time priority 50; prints each jump
    Spin {
        #[arg(long)]
        cpu: u16,
        #[arg(long)]
        seconds: u32,
        /// The shortest jump to print, in nanoseconds
        #[arg(long, default_value_t = 200_000)]
        least_ns: u64,
    },
    /// Where a CPU was stopped, by a recording, and what it did beside
    Stretches {
        rec: PathBuf,
        #[arg(long)]
        cpu: u16,
    },
}

fn main() -> ExitCode {
    let done = match Cli::parse().step {
        Step::Spin { cpu, seconds, least_ns } => spin::spin(cpu, seconds, least_ns),
        Step::Stretches { rec, cpu } => stretches::stretches(&rec, cpu),
    };
    match done {
        Ok(document) => {
            println!("{document}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("stolen bench: {error}");
            ExitCode::FAILURE
        }
    }
}
