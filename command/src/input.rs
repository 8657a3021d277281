//! What a verb reads: a recording, or a file of another tool's that holds a trace.
#![allow(clippy::doc_markdown)] // what --help prints has no markup in it

use crate::failure::Failure;
use crate::memory::{self, MemoryFlags};
use clap::Args;
use std::path::{Path, PathBuf};
use tardy_explain::Watch;
use tardy_import::{Abi, Closing, Import, ImportError, Origin, histogram};
use tardy_model::Batch;
use tardy_recording::{Host, Manifest, ManifestEnd, Recording};

/// How the source of an imported recording begins in its manifest.
const IMPORTED: &str = "import-";

/// Of a recording without its end.
const UNSEALED: &str = "the recording was not ended in good order (it was killed, or still goes on): of its last 100 ms \
                        some may be missing, and what is only known at the end, as the time a hypervisor took";

/// How to read a file of another tool's.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ImportFlags {
    /// The trace file's format, where it is not found by what it holds
    #[arg(long, value_name = "NAME")]
    input_format: Option<String>,

    /// The machine whose system calls a trace shows, where it does not say (x86_64, arm64, arm, i386)
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
                "--input-format {name} is for another tool's file, and {} is a recording",
                path.display()
            ))),
        }
    }

    fn options(&self) -> tardy_import::Options {
        tardy_import::Options { format: self.input_format.clone(), abi: self.arch }
    }
}

/// Where events come from.
pub(crate) enum Input {
    /// A folder that tardy wrote.
    Recording(Box<Recording>),
    /// A file.
    Trace(Box<Trace>),
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
        let (format, mut import) =
            tardy_import::open(path, &flags.options()).map_err(|error| refusal(path, &error))?;
        let mut first = Batch::default();
        let ended = !import.next_batch(&mut first)?;
        Ok(Self::Trace(Box::new(Trace {
            path: path.to_owned(),
            format: format.name(),
            import,
            first: Some(first),
            ended,
            closing: None,
        })))
    }

    /// Opens a recording that was made just now.
    pub(crate) fn own(folder: &Path) -> Result<Self, Failure> {
        Ok(Self::of(Recording::open(folder)?))
    }

    /// Of a recording that is open.
    pub(crate) fn of(recording: Recording) -> Self {
        Self::Recording(Box::new(recording))
    }

    /// Fills `batch`, which comes empty, with the next events; `false` at the end.
    pub(crate) fn read(&mut self, batch: &mut Batch) -> Result<bool, Failure> {
        match self {
            Self::Recording(recording) => {
                let more = recording.read(batch)?;
                memory::take(batch, recording.dir())?;
                Ok(more)
            }
            Self::Trace(trace) => {
                let more = trace.read(batch)?;
                memory::take(batch, &trace.path)?;
                Ok(more)
            }
        }
    }

    /// The folder, where what is found may be written beside the events.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Recording(recording) => Some(recording.dir()),
            Self::Trace(_) => None,
        }
    }

    /// What is known of where the events come from.
    pub(crate) fn manifest(&self) -> Manifest {
        match self {
            Self::Recording(recording) => recording.manifest().clone(),
            Self::Trace(trace) => trace.manifest(),
        }
    }

    /// What can only be said when all has been read: what is missing, and what a reader should know.
    pub(crate) fn closing(&mut self) -> ManifestEnd {
        match self {
            Self::Recording(recording) => {
                let torn = recording.stopped_at();
                let torn = torn.map(|torn| {
                    format!("the recording ends early: {torn}; everything before is used")
                });
                let unsealed = (!recording.manifest().sealed).then(|| UNSEALED.to_owned());
                let notes = unsealed.into_iter().chain(torn).collect();
                ManifestEnd { notes, ..ManifestEnd::default() }
            }
            Self::Trace(trace) => {
                let closing = trace.closing().clone();
                ManifestEnd {
                    missing: closing.missing,
                    notes: closing.notes,
                    ..ManifestEnd::default()
                }
            }
        }
    }

    /// Whose wakeups to explain: a trace of another tool's was made to watch nobody in particular, so
    /// where nobody is chosen all are.
    pub(crate) fn watch(&self, chosen: Watch) -> Watch {
        let nobody = !chosen.all && chosen.pids.is_empty() && chosen.comms.is_empty();
        let imported = match self {
            Self::Recording(recording) => recording.manifest().source.starts_with(IMPORTED),
            Self::Trace(_) => true,
        };
        Watch { all: chosen.all || (nobody && imported), ..chosen }
    }
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
            "{} is a histogram ({}): it has no events to explain; tardy report shows its figures",
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
