//! Explains a recording: reads it, writes the tables beside it, hands on what was found.

use crate::failure::Failure;
use std::io::Write;
use std::path::PathBuf;
use tardy_explain::timers::{TimerFindings, TimerTable};
use tardy_explain::{Explainer, Explanation, Named, Options, Sink};
use tardy_model::Batch;
use tardy_recording::Recording;
use tardy_recording::tables::{SegmentRow, TableWriter, WakeupRow};
use tardy_report::Context;
use tardy_report::json::{ExplainJson, ExplainTotals};

/// What is made of each wakeup as it is explained.
#[derive(Default)]
pub(crate) struct Wanted {
    /// `wakeups.parquet` and `segments.parquet` in the recording's folder.
    pub(crate) tables: bool,
    /// A JSON document with every wakeup.
    pub(crate) json: Option<Box<dyn Write>>,
    /// Who armed timers.
    pub(crate) timers: bool,
}

/// What explaining yields.
pub(crate) struct Explained {
    pub(crate) explanation: Explanation,
    /// Who armed timers, where that was wanted.
    pub(crate) timers: Option<TimerFindings>,
    /// What a reader must know besides.
    pub(crate) notes: Vec<String>,
}

/// Explains all of `recording`.
pub(crate) fn explain(
    recording: &mut Recording,
    options: Options,
    wanted: Wanted,
) -> Result<Explained, Failure> {
    let mut notes = recording.manifest().notes.clone();
    let mut sinks = Sinks::default();
    if wanted.tables {
        match TableWriter::create(recording.dir()) {
            Ok(tables) => sinks.tables = Some(tables),
            Err(error) => notes.push(format!("no tables: {error}")),
        }
    }
    if let Some(out) = wanted.json {
        sinks.json = Some(ExplainJson::begin(out)?);
    }
    sinks.timers = wanted.timers.then(TimerTable::default);
    let mut explainer = Explainer::new(options, sinks);
    let mut batch = Batch::default();
    while recording.read(&mut batch)? {
        if let Some(timers) = &mut explainer.sink_mut().timers {
            timers.batch(&batch);
        }
        explainer.batch(&batch);
        batch.clear();
    }
    let (explanation, sinks) = explainer.finish();
    if let Some(failure) = sinks.failure {
        return Err(failure);
    }
    let timers = sinks.timers.as_ref().map(TimerTable::findings);
    if let Some(tables) = sinks.tables {
        tables.finish()?;
    }
    if let Some(json) = sinks.json {
        let totals = ExplainTotals::from(&explanation).with_timers(timers.as_ref());
        writeln!(json.finish_with(&totals)?)?;
    }
    if explanation.lost_uncounted > 0 {
        notes.push(format!(
            "{} losses were not counted by the kernel: more events are missing than the number lost",
            explanation.lost_uncounted
        ));
    }
    notes.extend(gaps(&explanation));
    if let Some(torn) = recording.stopped_at() {
        notes.push(format!("the recording ends early: {torn}; everything before is used"));
    }
    let missing = &recording.manifest().missing;
    if !missing.is_empty() {
        notes.push(format!(
            "not recorded, because the kernel has no such event: {}",
            missing.join(", ")
        ));
    }
    Ok(Explained { explanation, timers, notes })
}

/// A word about events that are missing without a loss.
fn gaps(explanation: &Explanation) -> Option<String> {
    let gaps = &explanation.gaps;
    let after = gaps.mostly_after.as_ref()?;
    Some(format!(
        "{} times ({:.1} ms together) a CPU told of nothing although it worked, mostly after a switch \
         to {}: this kernel's events are silent there, and what happened is unexplained",
        gaps.count,
        gaps.ns as f64 / 1e6,
        after.name
    ))
}

/// The circumstances of a recording, for a report.
pub(crate) fn context(recording: &Recording, notes: Vec<String>) -> Context {
    let manifest = recording.manifest();
    let host = &manifest.host;
    Context {
        title: format!("Why threads were late on {}", host.name),
        command_line: manifest.command_line.join(" "),
        kernel: format!("{} {}", host.kernel_release, host.arch),
        host: host.name.clone(),
        hypervisor: host.hypervisor.clone(),
        load: None,
        source: manifest.source.clone(),
        recording: Some(PathBuf::from(recording.dir())),
        notes,
        duration_ns: 0,
    }
}

#[derive(Default)]
struct Sinks {
    tables: Option<TableWriter>,
    json: Option<ExplainJson<Box<dyn Write>>>,
    timers: Option<TimerTable>,
    wakeups: u64,
    /// The first thing that went wrong; nothing is written after it.
    failure: Option<Failure>,
}

impl Sink for Sinks {
    fn wakeup(&mut self, named: &Named<'_>) {
        self.wakeups += 1;
        if let Some(timers) = &mut self.timers {
            timers.wakeup(named.wakeup());
        }
        if self.failure.is_some() {
            return;
        }
        if let Err(failure) = self.write(named) {
            self.failure = Some(failure);
        }
    }
}

impl Sinks {
    fn write(&mut self, named: &Named<'_>) -> Result<(), Failure> {
        if let Some(tables) = &mut self.tables {
            write_rows(tables, self.wakeups, named)?;
        }
        if let Some(json) = &mut self.json {
            json.wakeup(named.wakeup(), named.victim(), |culprit| {
                let mut segments = named.segments();
                let found = segments.find(|(segment, _)| segment.culprit == culprit);
                found.map(|(_, label)| label.clone()).unwrap_or_default()
            })?;
        }
        Ok(())
    }
}

fn write_rows(tables: &mut TableWriter, id: u64, named: &Named<'_>) -> Result<(), Failure> {
    let wakeup = named.wakeup();
    tables.wakeup(&WakeupRow {
        id,
        task: wakeup.task.0,
        task_name: &named.victim().name,
        cpu: wakeup.cpu.0.into(),
        prio: wakeup.prio.0.into(),
        kind: wakeup.kind.name(),
        expiry_ns: wakeup.expiry_ns,
        lateness_ns: wakeup.lateness_ns,
        to_user: wakeup.to_user,
        touched_by_loss: wakeup.touched_by_loss,
    })?;
    for (position, (segment, label)) in named.segments().enumerate() {
        tables.segment(&SegmentRow {
            wakeup_id: id,
            position: position as u32,
            cause: segment.cause.0,
            culprit_kind: label.kind,
            culprit_name: &label.name,
            culprit_pid: label.pid,
            start_ns: segment.start_ns,
            ns: segment.ns,
        })?;
    }
    Ok(())
}
