//! Makes scripts, and runs them on queues. `bench/timers.py` calls this and prints the tables; each
//! measurement is a process of its own, so that no queue leaves its memory to the next.
#![forbid(unsafe_code)]

use clap::{Parser, Subcommand};
use serde_json::{Value, json};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use tardy_bench_timers::check::check;
use tardy_bench_timers::registry::{Entry, queues};
use tardy_bench_timers::script::{SLOTS_MAX, Script};
use tardy_bench_timers::workload::{WORKLOADS, Workload};

/// Timer queues side by side.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Print which queues and workloads there are
    List,
    /// Write the operations of a workload to a file
    Make {
        workload: String,
        #[arg(value_parser = clap::value_parser!(u32).range(1..=SLOTS_MAX as i64))]
        size: u32,
        file: PathBuf,
        /// At least so many, beside those that fill the queue
        #[arg(long, default_value_t = 200_000)]
        ops: u64,
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Hold queues against a sorted list
    Check { queues: Vec<String> },
    /// Run the operations of a file on a queue
    Time {
        queue: String,
        file: PathBuf,
        /// How often to run it before it counts
        #[arg(long, default_value_t = 0)]
        warm_up: u32,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().step) {
        Ok(found) => {
            println!("{found}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("tardy-bench-timers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(step: Step) -> Result<Value, Box<dyn Error>> {
    match step {
        Step::List => Ok(list()),
        Step::Make { workload, size, file, ops, seed } => {
            let workload =
                Workload::named(&workload).ok_or_else(|| no_such("workload", &workload))?;
            let script = workload.script(size, ops, seed);
            script.write(&file)?;
            Ok(json!({ "size": script.slots, "operations": script.operations() }))
        }
        Step::Check { queues } => {
            for name in &queues {
                check(&*queue(name)?.bench).map_err(|wrong| format!("{name}: {wrong}"))?;
            }
            Ok(json!({ "right": queues }))
        }
        Step::Time { queue: name, file, warm_up } => {
            let (queue, script) = (queue(&name)?, Script::read(&file)?);
            for _ in 0..warm_up {
                queue.bench.timed_ns(&script)?;
            }
            let ns = queue.bench.timed_ns(&script)?;
            Ok(json!({ "ns": ns, "operations": script.operations() }))
        }
    }
}

fn list() -> Value {
    let queues: Vec<_> = queues()
        .iter()
        .map(|queue| json!({ "name": queue.name, "about": queue.about, "ours": queue.is_ours }))
        .collect();
    let workloads: Vec<_> = WORKLOADS
        .iter()
        .map(|kind| json!({ "name": kind.name, "about": kind.about, "size": kind.size }))
        .collect();
    json!({ "queues": queues, "workloads": workloads })
}

fn queue(name: &str) -> Result<Entry, String> {
    queues().into_iter().find(|queue| queue.name == name).ok_or_else(|| no_such("queue", name))
}

fn no_such(what: &str, name: &str) -> String {
    format!("there is no {what} {name}; `list` names all")
}
