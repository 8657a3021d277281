//! One measurement: this process reads a recording, and explains it.

use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;
use tardy_explain::{Explainer, Options, Watch};
use tardy_model::Batch;
use tardy_recording::Recording;

/// Reads `rec` and, without `read_only`, explains it: `seconds` of wall and of this process' CPU
/// time, and its peak resident memory in KiB (`VmHWM`).
pub(crate) fn timed(rec: &Path, all: bool, read_only: bool) -> Result<Value, Box<dyn Error>> {
    let (start, cpu_start) = (Instant::now(), cpu_seconds()?);
    let mut recording = Recording::open(rec)?;
    let (events, wakeups) = if read_only {
        (read(&mut recording)?, 0)
    } else {
        explain(&mut recording, Watch { all, ..Watch::default() })?
    };
    let (seconds, cpu_seconds) = (start.elapsed().as_secs_f64(), cpu_seconds()? - cpu_start);
    if let Some(torn) = recording.stopped_at() {
        return Err(format!("the recording is not whole: {torn}").into());
    }
    Ok(json!({
        "events": events,
        "wakeups": wakeups,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_kib": peak_kib()?,
    }))
}

/// Takes every event's time, as the least that one can do with it.
fn read(recording: &mut Recording) -> Result<u64, Box<dyn Error>> {
    let (mut events, mut sum_ns) = (0, 0u64);
    let mut batch = Batch::default();
    while recording.read(&mut batch)? {
        events += batch.events.len() as u64;
        sum_ns = batch.events.iter().fold(sum_ns, |sum, event| sum.wrapping_add(event.time_ns));
        batch.clear();
    }
    std::hint::black_box(sum_ns);
    Ok(events)
}

fn explain(recording: &mut Recording, watch: Watch) -> Result<(u64, u64), Box<dyn Error>> {
    let mut explainer = Explainer::new(Options { watch, ..Options::default() }, ());
    let mut batch = Batch::default();
    while recording.read(&mut batch)? {
        explainer.batch(&batch);
        batch.clear();
    }
    let (explanation, ()) = explainer.finish();
    Ok((explanation.events, explanation.latencies.count()))
}

/// The time that this process' only thread has run (`schedstat`, first field).
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/self/schedstat")?;
    let ns: u64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(ns as f64 / 1e9)
}

/// The most memory this process ever had (`proc_pid_status(5)`).
fn peak_kib() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    kib.ok_or_else(|| "/proc/self/status has no VmHWM".into())
}
