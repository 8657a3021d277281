//! What a verb reads: a recording, or a file of another tool's that holds a trace.
#![allow(clippy::doc_markdown)] // what --help prints has no markup in it

use crate::failure::Failure;
use crate::manners;
use crate::memory::{self, MemoryFlags};
use crate::progress::Progress;
use crate::session::settings;
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tardy_explain::{Command, Explainer, Sink, Watch};
use tardy_import::{Abi, Closing, Import, ImportError, Meter, Origin, histogram};
use tardy_model::Batch;
use tardy_model::event::Comm;
use tardy_recording::{Host, Manifest, ManifestEnd, Recording};
use tardy_report::units;

/// How the source of an imported recording begins in its manifest.
const IMPORTED: &str = "import-";

/// Of a recording without its end.
const UNSEALED: &str = "the recording did not end properly (it was killed, or is still running): \
                        some of its last 100 ms may be missing, and so is what is only known at \
                        the end, such as the time that a hypervisor took";

/// How to read a file of another tool's.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ImportFlags {
    /// The format of the trace file, if it is not recognised from its contents
    #[arg(long, value_name = "NAME")]
    input_format: Option<String>,

    /// The architecture of the traced machine, if the trace does not say (x86_64, arm64, arm, i386)
    #[arg(long, value_name = "MACHINE", value_parser = abi)]
    arch: Option<Abi>,

    #[command(flatten)]
    memory: MemoryFlags,
}

fn abi(text: &str) -> Result<Abi, String> {
    match Abi::of_machine(text) {
        Abi::Unknown => Err("write x86_64, arm64, arm or i386".to_owned()),
        abi => Ok(abi),
    }
}

impl ImportFlags {
    /// A recording is tardy's own.
    fn must_not_name_a_format(&self, path: &Path) -> Result<(), Failure> {
        match &self.input_format {
            None => Ok(()),
            Some(name) => Err(Failure::usage(format!(
                "--input-format {name} is for other tools' files, but {} is a recording",
                path.display()
            ))),
        }
    }

    fn options(&self, meter: &Arc<Meter>) -> tardy_import::Options {
        tardy_import::Options {
            format: self.input_format.clone(),
            abi: self.arch,
            meter: meter.clone(),
        }
    }
}

/// Where events come from.
pub(crate) enum Input {
    /// A folder that tardy wrote.
    Recording(Box<Recording>, Reading),
    /// A file.
    Trace(Box<Trace>, Reading),
}

/// How far reading is: shown on the terminal where it takes long.
pub(crate) struct Reading {
    progress: Option<Progress>,
    events: u64,
    /// What a file's meter said when the events began; formats that look a file through first have read all of it.
    before: u64,
    meter: Arc<Meter>,
}

impl Reading {
    /// Of a recording with so many events.
    fn of_events(events: Option<u64>) -> Self {
        let progress = Some(Progress::of_steps(events, manners::is_quiet()));
        Self { progress, events: 0, before: 0, meter: Arc::default() }
    }

    /// Of a file of which the meter counts what is read.
    fn of_file(meter: Arc<Meter>) -> Self {
        let before = meter.bytes_read();
        let left = meter.length().map(|length| match length.saturating_sub(before) {
            0 => length,
            left => left,
        });
        let progress = Some(Progress::of_steps(left, manners::is_quiet()));
        Self { progress, events: 0, before, meter }
    }

    /// So many events more were read; `more` is whether that goes on.
    fn step(&mut self, events: usize, more: bool) {
        self.events += events as u64;
        let done = match self.meter.length() {
            Some(_) => self.meter.bytes_read().saturating_sub(self.before),
            None => self.events,
        };
        let words = || format!("{} events", units::count(self.events));
        match &mut self.progress {
            Some(progress) if more => progress.step(done, words),
            _ => self.progress = None,
        }
    }
}

/// A file that is being read.
pub(crate) struct Trace {
    path: PathBuf,
    format: &'static str,
    import: Box<dyn Import>,
    /// What has been read to learn of the origin, and is still to be handed out.
    first: Option<Batch>,
    ended: bool,
    closing: Option<Closing>,
}

impl Input {
    /// Opens a recording's folder, or a file.
    pub(crate) fn open(path: &Path, flags: &ImportFlags) -> Result<Self, Failure> {
        flags.memory.watch(path);
        if path.is_dir() {
            flags.must_not_name_a_format(path)?;
            let recording = Recording::open(path)?;
            return Ok(Self::of(recording));
        }
        let meter = Arc::default();
        let (format, mut import) = tardy_import::open(path, &flags.options(&meter))
            .map_err(|error| refusal(path, &error))?;
        let mut first = Batch::default();
        let ended = !import.next_batch(&mut first)?;
        let trace = Trace {
            path: path.to_owned(),
            format: format.name(),
            import,
            first: Some(first),
            ended,
            closing: None,
        };
        Ok(Self::Trace(Box::new(trace), Reading::of_file(meter)))
    }

    /// Opens a recording that was made just now.
    pub(crate) fn own(folder: &Path) -> Result<Self, Failure> {
        Ok(Self::of(Recording::open(folder)?))
    }

    /// Of a recording that is open.
    pub(crate) fn of(recording: Recording) -> Self {
        let events = recording.manifest().totals.map(|totals| totals.events);
        Self::Recording(Box::new(recording), Reading::of_events(events))
    }

    /// Fills `batch`, which comes empty, with the next events; `false` at the end.
    pub(crate) fn read(&mut self, batch: &mut Batch) -> Result<bool, Failure> {
        match self {
            Self::Recording(recording, reading) => {
                let more = recording.read(batch)?;
                reading.step(batch.events.len(), more);
                memory::take(batch, recording.dir())?;
                Ok(more)
            }
            Self::Trace(trace, reading) => {
                let more = trace.read(batch)?;
                reading.step(batch.events.len(), more);
                memory::take(batch, &trace.path)?;
                Ok(more)
            }
        }
    }

    /// Shows no progress: what is read goes to the terminal meanwhile.
    pub(crate) fn show_no_progress(&mut self) {
        let (Self::Recording(_, reading) | Self::Trace(_, reading)) = self;
        reading.progress = None;
    }

    /// The folder, where what is found may be written beside the events.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Recording(recording, _) => Some(recording.dir()),
            Self::Trace(..) => None,
        }
    }

    /// What is known of where the events come from.
    pub(crate) fn manifest(&self) -> Manifest {
        match self {
            Self::Recording(recording, _) => recording.manifest().clone(),
            Self::Trace(trace, _) => trace.manifest(),
        }
    }

    /// What can only be said when all has been read: what is missing, and what a reader should know.
    pub(crate) fn closing(&mut self) -> ManifestEnd {
        match self {
            Self::Recording(recording, _) => {
                let torn = recording.stopped_at();
                let torn = torn.map(|torn| {
                    format!("the recording ends early: {torn}; everything before is used")
                });
                let unsealed = (!recording.manifest().sealed).then(|| UNSEALED.to_owned());
                let notes = unsealed.into_iter().chain(torn).collect();
                ManifestEnd { notes, ..ManifestEnd::default() }
            }
            Self::Trace(trace, _) => {
                let closing = trace.closing().clone();
                ManifestEnd {
                    missing: closing.missing,
                    notes: closing.notes,
                    ..ManifestEnd::default()
                }
            }
        }
    }

    /// Shows all events to an explainer.
    pub(crate) fn show_to<S: Sink>(&mut self, explainer: &mut Explainer<S>) -> Result<(), Failure> {
        let mut batch = Batch::default();
        while self.read(&mut batch)? {
            explainer.batch(&batch);
            batch.clear();
        }
        Ok(())
    }

    /// Whose wakeups to explain: a trace of another tool's was made to watch nobody in particular, so
    /// where nobody is chosen all are.
    pub(crate) fn watch(&self, chosen: Watch) -> Watch {
        let nobody = !chosen.all && chosen.pids.is_empty() && chosen.comms.is_empty();
        let imported = match self {
            Self::Recording(recording, _) => recording.manifest().source.starts_with(IMPORTED),
            Self::Trace(..) => true,
        };
        let command = command(&self.manifest());
        Watch { all: chosen.all || (nobody && imported), command, ..chosen }
    }
}

/// Programs that set something and then become the command that they are given (`exec`).
const LAUNCHERS: &[&str] = &[
    "chroot",
    "chrt",
    "choom",
    "env",
    "ionice",
    "nice",
    "nohup",
    "numactl",
    "prlimit",
    "setarch",
    "setpriv",
    "stdbuf",
    "taskset",
    "uclampset",
];

/// The command that a recording was made to watch, and what its process was called before it was that.
fn command(manifest: &Manifest) -> Option<Command> {
    let pid = manifest.command_pid?;
    let name = |path: &str| Some(Comm::new(&Path::new(path).file_name()?.to_string_lossy()));
    let recorder = manifest.command_line.first().and_then(|path| name(path));
    let mut names_before: Vec<Comm> = recorder.into_iter().collect();
    names_before.push(Comm::new(tardy_programs::KEEPER_NAME));
    let command = manifest.settings.get(settings::COMMAND)?;
    let mut words = command.split(' ').filter_map(name);
    let own = words.next();
    let launches = |word: &Comm| LAUNCHERS.iter().any(|launcher| Comm::new(launcher) == *word);
    if own.as_ref().is_some_and(launches) {
        // It launches what comes behind it, perhaps through another one.
        names_before.extend(own);
        names_before.extend(words.filter(launches));
    } else {
        // One that is called the same cannot be told from what it was before.
        names_before.retain(|before| Some(before) != own.as_ref());
    }
    Some(Command { pid, names_before })
}

/// Why a file cannot be read as a trace, and what it may be instead.
fn refusal(path: &Path, error: &ImportError) -> Failure {
    let histogram = match error {
        ImportError::UnknownFormat { .. } => histogram::recognised(path).ok().flatten(),
        ImportError::NoSuchFormat { .. } => return Failure::usage(error.to_string()),
        _ => None,
    };
    match histogram {
        Some(format) => Failure::new(format!(
            "{} is a histogram ({}): it has no events to explain; tardy report shows its figures, \
             and tardy sim fit makes a simulated system from it and a description of what ran",
            path.display(),
            format.written_by()
        )),
        None => Failure::new(error.to_string()),
    }
}

impl Trace {
    fn read(&mut self, batch: &mut Batch) -> Result<bool, Failure> {
        if let Some(first) = self.first.take() {
            *batch = first;
            return Ok(true);
        }
        if self.ended {
            return Ok(false);
        }
        self.ended = !self.import.next_batch(batch)?;
        Ok(!self.ended || !batch.is_empty())
    }

    fn manifest(&self) -> Manifest {
        let Origin { clock, host, kernel_release, machine, cpus, hz, written_by } =
            self.import.origin();
        let written = (!written_by.is_empty()).then(|| format!("written by {written_by}"));
        Manifest {
            tardy_version: env!("CARGO_PKG_VERSION").to_owned(),
            command_line: vec![self.path.display().to_string()],
            source: format!("{IMPORTED}{}", self.format),
            host: Host {
                name: host,
                kernel_release,
                arch: machine,
                cpus_online: cpus,
                hz: (hz != 0).then_some(hz),
                ..Host::default()
            },
            clock,
            notes: written.into_iter().collect(),
            ..Manifest::default()
        }
    }

    fn closing(&mut self) -> &Closing {
        self.closing.get_or_insert_with(|| self.import.closing())
    }
}
