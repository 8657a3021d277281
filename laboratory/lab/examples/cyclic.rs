//! The cyclic measurement with the letters of cyclictest, for comparing the two:
//! `cyclic -D SECONDS -i INTERVAL_US -p PRIO [-l LOOPS] [--load SPEC] [--histfile FILE --bins US] [--marks]
//! [--policy fifo|rr|deadline|other] [--aligned]`. Prints one line of JSON per thread and one
//! for all of them, and the notes to standard error.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::time::Duration;
use tardy_lab::cyclic::{Phase, Plan, prepare};
use tardy_lab::{Policy, load};
use tardy_stats::Latencies;
use tardy_stats::histfile;

fn main() -> Result<(), Box<dyn Error>> {
    let mut plan = Plan { duration: Some(Duration::from_secs(1)), ..Plan::default() };
    let mut load = load::Spec::default();
    let mut file = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "-D" => plan.duration = Some(Duration::from_secs_f64(value()?.parse()?)),
            "-i" => plan.interval_ns = value()?.parse::<u64>()? * 1000,
            "-p" => plan.prio = value()?.parse()?,
            "-l" => plan.loops = Some(value()?.parse()?),
            "-t" => plan.threads = Some(value()?.parse()?),
            "-b" => plan.break_over_ns = Some(value()?.parse::<u64>()? * 1000),
            "--load" => load = value()?.parse()?,
            "--histfile" => file = Some(value()?),
            "--bins" => plan.histogram_us = Some(value()?.parse()?),
            "--marks" => plan.marks = true,
            "--aligned" => plan.phase = Phase::Aligned { offset_ns: 0 },
            "--policy" => {
                plan.policy = match value()?.as_str() {
                    "fifo" => Policy::Fifo,
                    "rr" => Policy::Rr,
                    "deadline" => Policy::Deadline,
                    "other" => Policy::Other,
                    unknown => return Err(format!("no policy `{unknown}`").into()),
                };
            }
            _ => return Err(format!("`{argument}` is not understood").into()),
        }
    }
    let load = load.start()?;
    let measurement = prepare(&plan)?.start().finish();
    load.stop();
    let mut all = Latencies::default();
    for thread in &measurement.threads {
        print_line(&thread.name, thread.policy, &thread.latencies, thread.overruns);
        all.merge(&thread.latencies);
    }
    let overruns = measurement.threads.iter().map(|thread| thread.overruns).sum();
    print_line("all", plan.policy, &all, overruns);
    for note in &measurement.notes {
        eprintln!("note: {note}");
    }
    if let Some(broken) = &measurement.broken_by {
        eprintln!("note: {} was {} ns late", broken.thread, broken.latency_ns);
    }
    if let Some(path) = file {
        histfile::write(BufWriter::new(File::create(path)?), &measurement.histograms, true)?;
    }
    Ok(())
}

fn print_line(name: &str, policy: Policy, latencies: &Latencies, overruns: u64) {
    println!(
        "{{\"name\":\"{name}\",\"policy\":\"{}\",\"samples\":{},\"overruns\":{overruns},\
         \"min_ns\":{},\"mean_ns\":{:.1},\"p50_ns\":{},\"p99_ns\":{},\"p999_ns\":{},\
         \"max_ns\":{}}}",
        policy.name(),
        latencies.count(),
        latencies.min_ns(),
        latencies.mean_ns(),
        latencies.quantile_ns(0.5),
        latencies.quantile_ns(0.99),
        latencies.quantile_ns(0.999),
        latencies.max_ns(),
    );
}
