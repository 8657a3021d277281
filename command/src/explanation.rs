//! Explains a recording: reads it, writes the tables where they are wanted, hands on what was found.

use crate::arguments;
use crate::document::Document;
use crate::failure::Failure;
use crate::input::Input;
use crate::output::Stream;
use crate::prediction;
use crate::recordings;
use crate::session::settings;
use crate::shell;
use crate::verb::WatchFlags;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use tardy_explain::timers::{TimerFindings, TimerTable};
use tardy_explain::{Advice, Explainer, Explanation, Named, Options, Seen, Sink, WorstWakeup};
use tardy_export::WakeupRows;
use tardy_model::{TaskId, TimerDef};
use tardy_recording::tables::{TableError, TableWriter};
use tardy_recording::{Manifest, Trigger};
use tardy_remedy::{Thread, shell_word};
use tardy_report::json::{ExplainJson, ExplainTotals};
use tardy_report::{Caught, Context};
use tardy_whatif::{Observation, Observed};

/// What is made of each wakeup as it is explained.
#[derive(Default)]
pub(crate) struct Wanted {
    /// `wakeups.parquet` and `segments.parquet` in this folder.
    pub(crate) tables: Option<PathBuf>,
    /// A JSON document with every wakeup.
    pub(crate) json: Option<Streamed>,
    /// Who armed timers.
    pub(crate) timers: bool,
    /// What is needed to predict from it.
    pub(crate) observed: bool,
}

/// Where a document goes that need not fit into memory.
pub(crate) enum Streamed {
    Stdout(Document<std::io::BufWriter<std::io::Stdout>>),
    File(Document<Stream>),
}

impl Streamed {
    pub(crate) fn begin(file: Option<&Path>) -> Result<Self, Failure> {
        Ok(match file {
            None => Self::Stdout(Document::new(std::io::BufWriter::new(crate::output::raw()))),
            Some(path) => Self::File(Document::new(Stream::begin(path)?)),
        })
    }

    fn finish(mut self) -> Result<(), Failure> {
        writeln!(self)?;
        match self {
            Self::Stdout(mut out) => Ok(out.flush()?),
            Self::File(out) => out.into_inner().finish(),
        }
    }
}

impl Write for Streamed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(out) => out.flush(),
        }
    }
}

/// What explaining yields.
pub(crate) struct Explained {
    pub(crate) explanation: Explanation,
    /// Who armed timers, where that was wanted.
    pub(crate) timers: Option<TimerFindings>,
    /// What it can be simulated from, where that was wanted and is not too much.
    pub(crate) observed: Option<Observed>,
    /// What a reader must know besides.
    pub(crate) notes: Vec<String>,
    /// What became of the tables. Nothing else is lost with them: to be told last.
    pub(crate) tables: Result<(), TableError>,
}

/// Explains all of `input`.
pub(crate) fn explain(
    input: &mut Input,
    options: Options,
    wanted: Wanted,
) -> Result<Explained, Failure> {
    let manifest = input.manifest();
    let mut notes = manifest.notes.clone();
    let mut sinks = Sinks::default();
    let mut tables = Ok(());
    if let Some(folder) = wanted.tables {
        match TableWriter::create(&folder) {
            Ok(writer) => sinks.tables = Some(writer),
            Err(error) => tables = Err(error),
        }
    }
    if let Some(out) = wanted.json {
        sinks.json = Some(ExplainJson::begin(out)?);
    }
    sinks.timers = wanted.timers.then(TimerTable::default);
    let is_observed = wanted.observed && prediction::is_worthwhile(&manifest);
    sinks.observation = is_observed.then(|| prediction::observation(&manifest));
    let options = Options { watch: input.watch(options.watch), ..options };
    let mut explainer = Explainer::new(options, sinks);
    input.show_to(&mut explainer)?;
    let about = manifest.trigger.as_ref().map(|it| (TaskId(it.task), it.expiry_ns));
    let (mut explanation, sinks) = explainer.finish_about(about);
    if let Some(trigger) = &manifest.trigger {
        caught_first(&mut explanation, trigger);
    }
    let recorded = manifest.totals.map_or(0, |totals| totals.events);
    if explanation.events == 0 && recorded > 0 {
        let why = input.closing().notes.join("; ");
        return Err(Failure::new(format!(
            "{recorded} events were recorded, but none of them can be read: {why}"
        )));
    }
    if let Some(failure) = sinks.failure {
        return Err(failure);
    }
    let timers = sinks.timers.as_ref().map(TimerTable::findings);
    let observed = sinks.observation.map(Observation::finish);
    if let Some(writer) = sinks.tables {
        tables = writer.finish();
    }
    if let Some(json) = sinks.json {
        let totals = ExplainTotals::from(&explanation).with_timers(timers.as_ref());
        json.finish_with(&totals)?.finish()?;
    }
    if explanation.lost_uncounted > 0 {
        notes.push(format!(
            "the kernel did not count {} of the losses: more events are missing than the number \
                says",
            explanation.lost_uncounted
        ));
    }
    notes.extend(gaps(&explanation, manifest.recorded_by().starts_with("live-")));
    notes.extend(counted(&manifest));
    notes.extend(stolen(&explanation, &manifest));
    let end = input.closing();
    notes.extend(end.notes);
    notes.extend(missing(&manifest));
    notes.extend(end.missing);
    Ok(Explained { explanation, timers, observed, notes, tables })
}

/// The wakeup for which a recording was kept comes first among the worst, and advice against its cause before other.
fn caught_first(explanation: &mut Explanation, trigger: &Trigger) {
    let is_it = |worst: &WorstWakeup| {
        let wakeup = &worst.wakeup;
        (wakeup.task.0, wakeup.expiry_ns) == (trigger.task, trigger.expiry_ns)
    };
    if let Some(at) = explanation.worst.iter().position(is_it) {
        explanation.worst[..=at].rotate_right(1);
    }
    // And what helps against it.
    let helps = |advice: &Advice| advice.cause.0 == trigger.cause;
    if let Some(at) = explanation.advice.iter().position(helps) {
        explanation.advice[..=at].rotate_right(1);
    }
}

/// What a recording could not show: a source of the running kernel names the events that it lacks, an
/// imported trace says in sentences what that means.
fn missing(manifest: &Manifest) -> Vec<String> {
    match manifest.missing.as_slice() {
        [] => Vec::new(),
        missing if manifest.recorded_by().starts_with("live-") => vec![format!(
            "not recorded, because the kernel has no such event or a flight recorder leaves it \
                out: {}",
            missing.join(", ")
        )],
        missing => missing.to_vec(),
    }
}

/// What a guest's times are.
fn counted(manifest: &Manifest) -> Option<String> {
    let vm = manifest.vm.as_ref()?;
    Some(format!(
        "recorded in a guest whose time is a count of its instructions, {} ns each: caches, \
         other guests and devices of this machine have no influence",
        vm.instruction_ns
    ))
}

/// What a hypervisor took.
fn stolen(explanation: &Explanation, manifest: &Manifest) -> Option<String> {
    let ms = |ns: u64| format!("{:.1} ms", ns as f64 / 1e6);
    let Some(stolen) = explanation.stolen else {
        let bound_ns = manifest.stolen_ns.filter(|ns| *ns > 0)?;
        return Some(format!(
            "the hypervisor took {} of CPU time meanwhile (/proc/stat), but this recording does \
             not show when: up to that much of the lateness may be due to it, whatever the balance \
             says",
            ms(bound_ns)
        ));
    };
    if stolen.ns == 0 {
        return None;
    }
    let mut note = format!("the hypervisor took {} of CPU time meanwhile", ms(stolen.ns));
    for (ns, what) in [
        (stolen.unsure_ns, "is placed at the end of the silent stretch in which it fell"),
        (stolen.unplaced_ns, "could not be placed and counts as whatever seemed to run"),
    ] {
        if ns > 0 {
            let _ = write!(note, "; {} of that {what}", ms(ns));
        }
    }
    Some(note)
}

/// A word about events that are missing without a loss.
fn gaps(explanation: &Explanation, is_live: bool) -> Option<String> {
    let gaps = &explanation.gaps;
    let after = gaps.mostly_after.as_ref()?;
    let (times, whose) = match gaps.count {
        1 => ("once".to_owned(), "after"),
        count => (format!("{count} times"), "mostly after"),
    };
    let why =
        if is_live { "this kernel records no events there" } else { "events are missing there" };
    Some(format!(
        "{times} ({:.1} ms in total) a CPU was busy but silent, {whose} a switch to {}: {why}, \
         so what happened is unexplained",
        gaps.ns as f64 / 1e6,
        after.name
    ))
}

/// The circumstances of a recording, for a report.
pub(crate) fn context(input: &Input, notes: Vec<String>) -> Context {
    let manifest = input.manifest();
    let host = &manifest.host;
    let is_cut_short = input.folder().is_some() && !manifest.sealed;
    let place = if host.name.is_empty() { "a machine that is not named" } else { &host.name };
    Context {
        title: format!("Why threads were late on {place}"),
        command_line: shell::line(&manifest.command_line),
        kernel: format!("{} {}", host.kernel_release, host.arch).trim().to_owned(),
        host: host.name.clone(),
        // Nothing takes time from a guest whose time is counted; a note says what it is.
        hypervisor: host.hypervisor.clone().filter(|_| manifest.vm.is_none()),
        load: manifest.settings.get(settings::LOAD).filter(|load| *load != "none").cloned(),
        source: manifest.source.clone(),
        recording: input.folder().map(PathBuf::from),
        recorded_command: recorded_command(input.folder(), &manifest),
        policy_refused: manifest.settings.get(settings::POLICY_REFUSED).cloned(),
        is_cut_short,
        whom: String::new(),
        again: String::new(),
        caught: manifest.trigger.as_ref().map(caught),
        ended: BTreeSet::new(),
        page: None,
        notes,
        duration_ns: if is_cut_short { 0 } else { duration_ns(&manifest) },
    }
}

/// Whose ids in commands are nobody's any more: of those in a recording of this system who do not run. Who runs on
/// another one is not known here.
pub(crate) fn ended(input: &Input, explanation: &Explanation) -> BTreeSet<u32> {
    let is_of_here =
        input.folder().is_some_and(|folder| recordings::is_of_here(folder, &input.manifest()));
    if !is_of_here {
        return BTreeSet::new();
    }
    let victims = explanation.victims.iter().flat_map(|it| [it.label.pid, it.process]).flatten();
    let culprits = explanation.culprits.iter().filter_map(|culprit| culprit.process);
    victims.chain(culprits).filter(|id| !is_still_there(*id, explanation)).collect()
}

/// Whether the process or thread that has this number is the one that had it when a recording was over: none that began
/// later.
pub(crate) fn is_still_there(number: u32, explanation: &Explanation) -> bool {
    let end_ns = explanation.start_ns.saturating_add(explanation.span_ns);
    Thread::of(number).is_some_and(|thread| !thread.began_after(end_ns))
}

/// The command that was recorded, where what is kept of it can be given to a shell as it is, and the user gave it:
/// nobody is to be advised to run what a stranger's recording tells.
pub(crate) fn recorded_command(folder: Option<&Path>, manifest: &Manifest) -> String {
    let Some(command) = manifest.settings.get(settings::COMMAND) else { return String::new() };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_./=:,+@%".contains(c);
    let is_own = || folder.is_some_and(|folder| recordings::is_of_here(folder, manifest));
    if command.chars().all(is_plain) && is_own() { command.clone() } else { "CMD".to_owned() }
}

/// How long it took: as long as was asked for, unless it was ended before; 0 where that is not known.
fn duration_ns(manifest: &Manifest) -> u64 {
    let span_ns = manifest.totals.map(|totals| totals.last_ns.saturating_sub(totals.first_ns));
    let asked = manifest.settings.get(settings::DURATION);
    let asked_ns = asked.and_then(|duration| arguments::interval_ns(duration).ok());
    asked_ns.into_iter().chain(span_ns).min().unwrap_or(0)
}

/// For which wakeup it was kept.
fn caught(trigger: &Trigger) -> Caught {
    Caught {
        when: recordings::when(trigger.ran_unix_ns),
        task: trigger.task,
        expiry_ns: trigger.expiry_ns,
        over_ns: trigger.over_ns,
    }
}

/// The command that explains this again, as a shell takes it.
pub(crate) fn again(path: &Path, watch: &WatchFlags) -> String {
    let mut words = vec!["tardy explain".to_owned(), shell_word(&path.to_string_lossy())];
    words.extend(watch.pid.iter().map(|pid| format!("--pid {pid}")));
    words.extend(watch.comm.iter().map(|name| format!("--comm {}", shell_word(name))));
    words.extend(watch.all.then(|| "--all".to_owned()));
    words.join(" ")
}

/// On whom `tardy fix` is to try what helps: those that were chosen, else those of the recording.
pub(crate) fn whom(path: &Path, watch: &WatchFlags) -> String {
    let mut words: Vec<String> = watch.pid.iter().map(|pid| format!("-p {pid}")).collect();
    words.extend(watch.comm.iter().map(|name| format!("--comm {}", shell_word(name))));
    if words.is_empty() {
        words.push(shell_word(&path.to_string_lossy()));
    }
    words.join(" ")
}

#[derive(Default)]
struct Sinks {
    tables: Option<TableWriter>,
    json: Option<ExplainJson<Streamed>>,
    rows: WakeupRows,
    timers: Option<TimerTable>,
    observation: Option<Observation>,
    /// The first thing that went wrong; nothing is written after it.
    failure: Option<Failure>,
}

impl Sink for Sinks {
    fn takes_wakeups(&self) -> bool {
        self.json.is_some() || self.timers.is_some() || self.observation.is_some()
    }

    fn looks_at_segments(&self) -> bool {
        self.tables.is_some() || self.takes_wakeups()
    }

    fn ended(&mut self, named: &Named<'_>) {
        if let Some(tables) = &mut self.tables {
            self.rows.append(named, tables);
        }
    }

    fn touched(&mut self, before: usize, _is_loss: bool) {
        const { assert!(tardy_explain::REVISED_MAX <= tardy_recording::tables::REVISED_MAX) };
        if let Some(tables) = &mut self.tables {
            tables.touched(before);
        }
    }

    fn define(&mut self, defined: &[TimerDef]) {
        if let Some(timers) = &mut self.timers {
            timers.define(defined);
        }
    }

    #[inline]
    fn event(&mut self, seen: &Seen<'_>) {
        if let Some(timers) = &mut self.timers {
            timers.event(seen);
        }
        if let Some(observation) = &mut self.observation {
            observation.event(seen);
        }
    }

    fn wakeup(&mut self, named: &Named<'_>) {
        if let Some(timers) = &mut self.timers {
            timers.wakeup(named);
        }
        if let Some(observation) = &mut self.observation {
            observation.wakeup(named);
        }
        let Some(json) = self.json.as_mut().filter(|_| self.failure.is_none()) else { return };
        let label = |culprit| named.label(culprit);
        let written = json.wakeup(named.wakeup(), named.victim(), named.patterns(), label);
        self.failure = written.err().map(Failure::from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_explains_it_again_can_be_pasted() {
        let watch = WatchFlags { pid: vec![7], comm: vec!["a b".to_owned()], all: false };
        assert_eq!(
            again(Path::new("it's/run-1"), &watch),
            r"tardy explain 'it'\''s/run-1' --pid 7 --comm 'a b'"
        );
        let all = WatchFlags { all: true, ..WatchFlags::default() };
        assert_eq!(again(Path::new("run-1"), &all), "tardy explain run-1 --all");
    }
}
