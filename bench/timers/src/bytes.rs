//! How many bytes a filled queue takes. A program of its own, as counting them takes time.
#![forbid(unsafe_code)]

use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use tardy_bench_timers::registry::queues;
use tardy_bench_timers::script::Script;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [queue, file] = arguments.as_slice() else {
        eprintln!("usage: tardy-bench-timers-bytes QUEUE FILE");
        return ExitCode::from(2);
    };
    match bytes(queue, Path::new(file)) {
        Ok(bytes) => {
            println!("{}", json!({ "bytes": bytes }));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("tardy-bench-timers-bytes: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bytes(name: &str, file: &Path) -> Result<u64, Box<dyn Error>> {
    let queues = queues();
    let queue = queues.iter().find(|queue| queue.name == name).ok_or("there is no such queue")?;
    Ok(queue.bench.bytes(&Script::read(file)?, &allocated_bytes)?)
}

/// What was asked for and not given back.
fn allocated_bytes() -> u64 {
    let stats = ALLOCATOR.stats();
    (stats.bytes_allocated - stats.bytes_deallocated) as u64
}
