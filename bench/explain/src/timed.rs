//! One measurement: this process reads a recording, and explains it.

use crate::lengthen::repeat;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;
use tardy_explain::{Explainer, Named, Options, Sink, Watch};
use tardy_export::WakeupRows;
use tardy_model::Batch;
use tardy_recording::Recording;
use tardy_recording::tables::TableWriter;

/// Reads `rec`.
pub(crate) fn reading(rec: &Path) -> Result<Value, Box<dyn Error>> {
    timed(rec, |recording| Ok((read(recording)?, 0)))
}

/// Reads `rec` and explains it; writes the tables to a folder that is there, if one is named.
pub(crate) fn explaining(
    rec: &Path,
    all: bool,
    tables: Option<&Path>,
) -> Result<Value, Box<dyn Error>> {
    let watch = Watch { all, ..Watch::default() };
    timed(rec, |recording| match tables {
        None => explain(recording, watch, ()).map(|(found, ())| found),
        Some(folder) => {
            let tables = TableWriter::create(folder)?;
            let sink = Tables { rows: WakeupRows::default(), tables };
            let (found, sink) = explain(recording, watch, sink)?;
            sink.tables.finish()?;
            Ok(found)
        }
    })
}

/// Explains `rec` again and again, each time later, until there were so many events: in as much memory as it takes once,
/// whatever their number. Nothing is written.
pub(crate) fn repeated(rec: &Path, all: bool, events: u64) -> Result<Value, Box<dyn Error>> {
    let watch = Watch { all, ..Watch::default() };
    let (mut seen, mut of_a_tenth) = (0u64, None);
    let told = timed(rec, |recording| {
        let mut explainer = Explainer::new(Options { watch, ..Options::default() }, ());
        repeat(recording, events, |batch| {
            explainer.batch(&batch);
            seen += batch.events.len() as u64;
            if of_a_tenth.is_none() && seen >= events / 10 {
                of_a_tenth = Some(peak_kib()?);
            }
            Ok(batch)
        })?;
        let (explanation, ()) = explainer.finish();
        Ok((explanation.events, explanation.latencies.count()))
    });
    let mut told = told?;
    told["peak_kib_of_a_tenth"] = json!(of_a_tenth);
    Ok(told)
}

struct Tables {
    rows: WakeupRows,
    tables: TableWriter,
}

impl Sink for Tables {
    fn wakeup(&mut self, _: &Named<'_>) {}

    fn takes_wakeups(&self) -> bool {
        false
    }

    fn ended(&mut self, wakeup: &Named<'_>) {
        self.rows.append(wakeup, &mut self.tables);
    }

    fn touched(&mut self, before: usize, _is_loss: bool) {
        self.tables.touched(before);
    }
}

/// `seconds` of wall and of this process' CPU time, and its peak resident memory in KiB (`VmHWM`).
fn timed(
    rec: &Path,
    run: impl FnOnce(&mut Recording) -> Result<(u64, u64), Box<dyn Error>>,
) -> Result<Value, Box<dyn Error>> {
    let (start, cpu_start) = (Instant::now(), cpu_seconds()?);
    let mut recording = Recording::open(rec)?;
    let (events, wakeups) = run(&mut recording)?;
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

/// Events and wakeups.
fn explain<S: Sink>(
    recording: &mut Recording,
    watch: Watch,
    sink: S,
) -> Result<((u64, u64), S), Box<dyn Error>> {
    let mut explainer = Explainer::new(Options { watch, ..Options::default() }, sink);
    let mut batch = Batch::default();
    while recording.read(&mut batch)? {
        explainer.batch(&batch);
        batch.clear();
    }
    let (explanation, sink) = explainer.finish();
    Ok(((explanation.events, explanation.latencies.count()), sink))
}

/// The time that all threads of this process have run, those that have ended too.
fn cpu_seconds() -> Result<f64, nix::Error> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    Ok((usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6)
}

/// The most memory this process ever had (`proc_pid_status(5)`).
fn peak_kib() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    kib.ok_or_else(|| "/proc/self/status has no VmHWM".into())
}
