//! What a recording says of itself.

use crate::format;
use crate::trigger::Trigger;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use tardy_files::{Access, Folder};

/// The manifest's file in a recording's folder.
pub(crate) const FILE_NAME: &str = "manifest.json";

/// The most bytes of a manifest that are read.
const BYTES_MAX: u64 = 4 << 20;

/// `manifest.json`. Fields that a newer program added are passed over; fields that an older one did
/// not write have their default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// The version of the whole format, [`format::VERSION`]; a reader refuses a higher one.
    pub format_version: u32,
    /// The version of the tardy that recorded.
    pub tardy_version: String,
    /// When, in seconds since 1970-01-01 UTC.
    pub created_unix_s: u64,
    /// The command line, one entry per argument.
    pub command_line: Vec<String>,
    /// Which source: `live-ebpf`, `live-tracefs`, `vm`, …
    pub source: String,
    /// The guest, where it was recorded in one whose time is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vm: Option<Vm>,
    /// The machine.
    pub host: Host,
    /// The clock of all times.
    pub clock: String,
    /// Settings of the machine that matter for timing, by name.
    pub settings: BTreeMap<String, String>,
    /// What the source could not show: tracepoints that this kernel lacks or that were left out, one
    /// sentence each.
    pub missing: Vec<String>,
    /// Anything else that a reader should be told, one sentence each.
    pub notes: Vec<String>,
    /// Bytes of the kernel's buffer, per CPU.
    pub buffer_bytes_per_cpu: u64,
    /// Whether the recording was ended in good order.
    pub sealed: bool,
    /// CPU time of all CPUs that a hypervisor took while this was recorded, in nanoseconds and whole ticks
    /// (`/proc/stat`); written when it is sealed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stolen_ns: Option<u64>,
    /// The process that became the command which was started to be watched. Under the names that it had before, it was
    /// not the command yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_pid: Option<u32>,
    /// The wakeup for which it was kept, where it was for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// What is in it; written when it is sealed.
    pub totals: Option<Totals>,
}

/// The machine that was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// `uname -r`.
    pub kernel_release: String,
    /// `uname -v`.
    pub kernel_version: String,
    /// `uname -m`.
    pub arch: String,
    /// CPUs online.
    pub cpus_online: u32,
    /// The hypervisor, where it is a guest.
    pub hypervisor: Option<String>,
    /// The kernel's preemption model, where it tells.
    pub preemption: Option<String>,
    /// The kernel's tick rate per second, where it tells.
    pub hz: Option<u32>,
    /// Which boot it was (`/proc/sys/kernel/random/boot_id`): numbers of processes are those of one boot.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub boot_id: String,
}

/// A guest whose time is a count of its instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Vm {
    /// What recorded there: `live-ebpf`, `live-tracefs`.
    pub recorded_by: String,
    /// The kernel, by the name under which it is kept.
    pub kernel: String,
    /// How long an instruction takes there, ns.
    pub instruction_ns: u64,
    /// Memory, MiB.
    pub memory_mib: u32,
    /// What chose its random numbers.
    pub seed: u64,
    /// What was added to the kernel's command line.
    pub append: Vec<String>,
    /// QEMU's version.
    pub qemu: String,
}

/// What a sealed recording holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Events, those that tell of losses included.
    pub events: u64,
    /// Events that are not in it, as far as its loss events count them.
    pub lost: u64,
    /// The time of the first event; 0 where there is none.
    pub first_ns: u64,
    /// The time of the last event; 0 where there is none.
    pub last_ns: u64,
    /// Bytes of all segment files.
    pub bytes: u64,
}

/// What is only known once a recording ends: added to the manifest at the seal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestEnd {
    /// More of [`Manifest::settings`].
    pub settings: BTreeMap<String, String>,
    /// More of [`Manifest::missing`].
    pub missing: Vec<String>,
    /// More of [`Manifest::notes`].
    pub notes: Vec<String>,
    /// [`Manifest::stolen_ns`].
    pub stolen_ns: Option<u64>,
    /// [`Manifest::command_pid`].
    pub command_pid: Option<u32>,
}

/// Why a manifest could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not what it should be.
    #[error("{path} is not a recording's manifest: {why}")]
    Garbled {
        /// The file.
        path: PathBuf,
        /// Where and why.
        why: String,
    },
    /// A newer program wrote it.
    #[error("{path} has format version {version}, this program reads up to {known}: update tardy")]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version in it.
        version: u32,
        /// The highest that is known here.
        known: u32,
    },
}

impl Default for Manifest {
    fn default() -> Self {
        Self {
            format_version: format::VERSION,
            tardy_version: String::new(),
            created_unix_s: 0,
            command_line: Vec::new(),
            source: String::new(),
            vm: None,
            host: Host::default(),
            clock: "CLOCK_MONOTONIC".to_owned(),
            settings: BTreeMap::new(),
            missing: Vec::new(),
            notes: Vec::new(),
            buffer_bytes_per_cpu: 0,
            sealed: false,
            stolen_ns: None,
            command_pid: None,
            trigger: None,
            totals: None,
        }
    }
}

impl Manifest {
    /// What recorded, on the machine itself or in a guest.
    pub fn recorded_by(&self) -> &str {
        self.vm.as_ref().map_or(&self.source, |vm| &vm.recorded_by)
    }

    /// Reads the manifest in a recording's folder.
    ///
    /// # Errors
    /// Where the file cannot be read, is no manifest, or has a newer format version.
    pub fn read(dir: &Path) -> Result<Self, ManifestError> {
        match Folder::open(dir) {
            Ok(folder) => Self::read_in(&folder, dir),
            Err(source) => Err(ManifestError::Read { path: dir.join(FILE_NAME), source }),
        }
    }

    /// As [`Manifest::read`], in a folder that is held open.
    pub(crate) fn read_in(folder: &Folder, dir: &Path) -> Result<Self, ManifestError> {
        let path = dir.join(FILE_NAME);
        let text = match folder.read(FILE_NAME, BYTES_MAX) {
            Ok(text) => text,
            Err(source) => return Err(ManifestError::Read { path, source }),
        };
        // The version first: a newer format may have changed anything else.
        let version = serde_json::from_slice::<VersionOnly>(&text).map(|only| only.format_version);
        match version {
            Ok(version) if version > format::VERSION => {
                return Err(ManifestError::Newer { path, version, known: format::VERSION });
            }
            Ok(_) => {}
            Err(error) => return Err(ManifestError::Garbled { path, why: error.to_string() }),
        }
        serde_json::from_slice(&text)
            .map_err(|error| ManifestError::Garbled { path, why: error.to_string() })
    }

    /// Changes the manifest in a recording's folder: what only whoever moved the recording here knows.
    ///
    /// # Errors
    /// Where it cannot be read, or not be written.
    pub fn amend(dir: &Path, change: impl FnOnce(&mut Self)) -> Result<Self, ManifestError> {
        let mut manifest = Self::read(dir)?;
        change(&mut manifest);
        match Folder::open(dir).and_then(|folder| manifest.write(&folder)) {
            Ok(()) => Ok(manifest),
            Err(source) => Err(ManifestError::Write { path: dir.join(FILE_NAME), source }),
        }
    }

    /// Writes it into a recording's folder, whole or not at all.
    pub(crate) fn write(&self, folder: &Folder) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        folder.replace(FILE_NAME, &text, Access::Private)
    }

    /// Completes it at the end of a recording.
    pub(crate) fn end(&mut self, end: ManifestEnd, totals: Totals) {
        self.settings.extend(end.settings);
        self.missing.extend(end.missing);
        self.notes.extend(end.notes);
        self.stolen_ns = end.stolen_ns;
        self.command_pid = end.command_pid;
        self.sealed = true;
        self.totals = Some(totals);
    }
}

#[derive(Deserialize)]
struct VersionOnly {
    format_version: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read_text(text: &str) -> Result<Manifest, ManifestError> {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE_NAME), text).unwrap();
        Manifest::read(dir.path())
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let mut manifest = Manifest {
            source: "live-ebpf".to_owned(),
            command_line: vec!["tardy".to_owned(), "run \"é\"".to_owned()],
            host: Host { hz: Some(250), cpus_online: 2, ..Host::default() },
            ..Manifest::default()
        };
        manifest.settings.insert("timer_migration".to_owned(), "1".to_owned());
        manifest.write(&Folder::open(dir.path()).unwrap()).unwrap();
        assert_eq!(Manifest::read(dir.path()).unwrap(), manifest);
        let end = ManifestEnd { notes: vec!["late".to_owned()], ..ManifestEnd::default() };
        manifest.end(end, Totals { events: 3, ..Totals::default() });
        manifest.write(&Folder::open(dir.path()).unwrap()).unwrap();
        let read = Manifest::read(dir.path()).unwrap();
        assert!(read.sealed && read.notes == ["late"] && read.totals.unwrap().events == 3);
        let vm = Vm { recorded_by: read.source, ..Vm::default() };
        let amended = Manifest::amend(dir.path(), |manifest| manifest.vm = Some(vm)).unwrap();
        assert_eq!(amended.vm.as_ref().unwrap().recorded_by, "live-ebpf");
        assert_eq!(Manifest::read(dir.path()).unwrap(), amended);
    }

    #[test]
    fn newer_fields_are_passed_over_and_a_newer_format_is_refused() {
        let newer_field = r#"{"format_version": 1, "source": "vm", "weather": {"rain": true}}"#;
        assert_eq!(read_text(newer_field).unwrap().source, "vm");
        let newer_format = r#"{"format_version": 2, "source": ["changed", "its", "type"]}"#;
        let error = read_text(newer_format).unwrap_err();
        assert!(matches!(error, ManifestError::Newer { version: 2, known: 1, .. }), "{error}");
        for garbled in ["", "{}", "{\"format_version\": 1", "7", "\0\0\0\0"] {
            let error = read_text(garbled).unwrap_err();
            assert!(matches!(error, ManifestError::Garbled { .. }), "{garbled:?}: {error}");
        }
    }
}
