//! Measures a lock with priority inheritance and prints what bench/pi.py compares: Low's rounds, the
//! maxima, and each class of each figure.
//!
//! `pi CPU TRAINING ROUNDS LOAD_NS calibrated|raw`, as `bench/pi-peer.c`.

use std::process::ExitCode;
use tardy_lab::pi::{Plan, Running, start};

fn plan(arguments: &[String]) -> Option<Plan> {
    let [cpu, training, rounds, load, how] = arguments else { return None };
    let load_ns = load.parse().ok()?;
    Some(Plan {
        cpu: Some(cpu.parse().ok()?),
        training_rounds: training.parse().ok()?,
        rounds: Some(rounds.parse().ok()?),
        locked_ns: load_ns,
        free_ns: load_ns,
        calibrated: how == "calibrated",
        // The peer leaves idle states alone.
        dma_latency_us: None,
        ..Plan::default()
    })
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(plan) = plan(&arguments) else {
        eprintln!("usage: pi CPU TRAINING ROUNDS LOAD_NS calibrated|raw");
        return ExitCode::from(2);
    };
    let measurement = match start(&plan, || false).and_then(Running::finish) {
        Ok(measurement) => measurement,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    for note in &measurement.notes {
        eprintln!("{note}");
    }
    println!("low_rounds {}", measurement.low_rounds);
    for (name, latencies) in [("to_lock", &measurement.to_lock), ("jitter", &measurement.jitter)] {
        println!("max {name} {}", latencies.max_ns());
        for (ns, count) in latencies.classes() {
            println!("{name} {ns} {count}");
        }
    }
    ExitCode::SUCCESS
}
