//! How punctually and how cheaply one sleeps and arms in a live process: one row per way to do it.
//!
//! Two measures, in real time, in rounds that alternate:
//!
//! - *wake error*: how much later than asked a thread goes on that sleeps a random time of 0.2 to 2 ms.
//! - *arm and cancel*: pairs per second, from two threads that share what there is to share, of a timer
//!   due in an hour.
#![forbid(unsafe_code)]

mod spin;
mod system;
mod tardy_service;
mod tardy_sleeper;
mod tokio_time;

use clap::Parser;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A way to sleep. To be measured, it is entered in [`sleepers`].
trait Sleeper {
    fn name(&self) -> &'static str;

    /// Sleeps, on this thread.
    fn sleep(&self, time: Duration);

    /// Called when others are to sleep on this thread: gives back what it has changed of it.
    fn rest(&self) {}

    /// What arms and cancels timers here, where that can be done without sleeping.
    fn arms(&self) -> Option<&dyn Arms>;
}

/// Arms timers and takes them back, from any thread.
trait Arms: Sync {
    /// Arms a timer that is due in an hour, and cancels it, `pairs` times.
    fn arm_and_cancel(&self, pairs: u32);
}

/// All ways, a line each.
fn sleepers() -> Vec<Box<dyn Sleeper>> {
    vec![
        Box::new(system::System),
        Box::new(tokio_time::Tokio::new()),
        Box::new(spin::Spin::default()),
        Box::new(tardy_sleeper::Tardy::balanced()),
        Box::new(tardy_sleeper::Tardy::exact()),
        Box::new(tardy_service::Tardy::new()),
    ]
}

const SLEEP_NS: std::ops::RangeInclusive<u64> = 200_000..=2_000_000;
const ARMING_THREADS: u32 = 2;
/// Between two looks whether time is up.
const PAIRS_AT_ONCE: u32 = 256;

/// Sleeps and timer services side by side, in real time.
#[derive(Debug, Parser)]
struct Cli {
    /// Sleeps of each, per round
    #[arg(long, default_value_t = 300)]
    sleeps: u32,
    /// Milliseconds of arming and cancelling of each, per round
    #[arg(long, default_value_t = 300)]
    arming_ms: u64,
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Default)]
struct Found {
    errors_ns: Vec<u64>,
    pairs_per_second: Vec<f64>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let sleepers = sleepers();
    let mut found: Vec<Found> = sleepers.iter().map(|_| Found::default()).collect();
    for round in 0..cli.rounds {
        // There and back again, so that whatever else the machine does meets all alike.
        let mut order: Vec<usize> = (0..sleepers.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order {
            let mut random = fastrand::Rng::with_seed(cli.seed + u64::from(round));
            let errors = (0..cli.sleeps).map(|_| wake_error_ns(&*sleepers[at], &mut random));
            found[at].errors_ns.extend(errors);
            sleepers[at].rest();
            if let Some(arms) = sleepers[at].arms() {
                found[at].pairs_per_second.push(pairs_per_second(arms, cli.arming_ms));
            }
        }
    }
    let rows = sleepers.iter().zip(found).map(|(sleeper, found)| row(sleeper.name(), found));
    let rows: Vec<Value> = rows.collect();
    if cli.json {
        println!("{}", json!({ "schema": "tardy.bench.service/1", "rows": rows }));
    } else {
        print_table(&rows);
    }
    ExitCode::SUCCESS
}

fn wake_error_ns(sleeper: &dyn Sleeper, random: &mut fastrand::Rng) -> u64 {
    let time = Duration::from_nanos(random.u64(SLEEP_NS));
    let start = Instant::now();
    sleeper.sleep(time);
    start.elapsed().saturating_sub(time).as_nanos() as u64
}

/// Of all threads together.
fn pairs_per_second(arms: &dyn Arms, time_ms: u64) -> f64 {
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    let pairs: u64 = thread::scope(|scope| {
        let arm = || {
            let mut pairs = 0;
            while !stop.load(Ordering::Relaxed) {
                arms.arm_and_cancel(PAIRS_AT_ONCE);
                pairs += u64::from(PAIRS_AT_ONCE);
            }
            pairs
        };
        let threads: Vec<_> = (0..ARMING_THREADS).map(|_| scope.spawn(arm)).collect();
        thread::sleep(Duration::from_millis(time_ms));
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum()
    });
    pairs as f64 / start.elapsed().as_secs_f64()
}

fn row(name: &str, mut found: Found) -> Value {
    found.errors_ns.sort_unstable();
    found.pairs_per_second.sort_unstable_by(f64::total_cmp);
    let quantile = |share: f64| {
        let last = found.errors_ns.len().saturating_sub(1);
        found.errors_ns.get((last as f64 * share).round() as usize)
    };
    json!({
        "name": name,
        "sleeps": found.errors_ns.len(),
        "error_p50_ns": quantile(0.5),
        "error_p99_ns": quantile(0.99),
        "error_max_ns": quantile(1.0),
        "pairs_per_second": found.pairs_per_second.get(found.pairs_per_second.len() / 2),
    })
}

fn print_table(rows: &[Value]) {
    println!(
        "{:14} {:>7} {:>30} {:>22}",
        "", "sleeps", "wake error p50/p99/max us", "arm+cancel pairs/s"
    );
    for row in rows {
        let us = |key: &str| row[key].as_f64().map_or("-".into(), |ns| format!("{:.1}", ns / 1e3));
        let error =
            format!("{} / {} / {}", us("error_p50_ns"), us("error_p99_ns"), us("error_max_ns"));
        let pairs =
            row["pairs_per_second"].as_f64().map_or("-".into(), |pairs| format!("{pairs:.0}"));
        let name = row["name"].as_str().unwrap_or_default();
        println!("{name:14} {:>7} {error:>30} {pairs:>22}", row["sleeps"]);
    }
}
