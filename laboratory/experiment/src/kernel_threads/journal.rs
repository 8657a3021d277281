//! What kernel threads were before they were changed, on file while they are.
//!
//! It is below `/run`, which a boot empties, as it does away with what was changed. The file is locked
//! by who changes; the kernel takes that lock away with the process, however it ends. So a file that
//! can be locked and is not empty was left by one that was killed.

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use tardy_thread_policy::Policy;

/// The file of this machine.
pub(super) const PATH: &str = "/run/tardy/kernel-threads.jsonl";

/// The most bytes that are read: more than as many threads as are changed at once need.
const BYTES_MAX: u64 = 4 << 20;

/// A thread and its policy before it was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) tid: u32,
    /// When it began, in ticks since boot.
    pub(super) start: u64,
    pub(super) name: String,
    /// As [`Policy`] writes it.
    was: String,
}

impl Entry {
    pub(super) fn new(tid: u32, start: u64, name: String, was: Policy) -> Self {
        Self { tid, start, name, was: was.to_string() }
    }

    pub(super) fn was(&self) -> Option<Policy> {
        self.was.parse().ok()
    }
}

/// The file, locked.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

/// Why there is no journal.
#[derive(Debug)]
pub(super) enum Refused {
    /// Another process has it.
    Busy,
    /// It cannot be made or read.
    Io(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Journal {
    /// Opens it, and makes it where it is not there.
    pub(super) fn open(path: &Path) -> Result<Self, Refused> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // Who had it may have taken its name away between opening and locking.
        loop {
            let mut options = OpenOptions::new();
            options.read(true).append(true).create(true).mode(0o600);
            let file = options.open(path)?;
            flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(
                |error| match error {
                    rustix::io::Errno::WOULDBLOCK => Refused::Busy,
                    error => Refused::Io(error.into()),
                },
            )?;
            let own = file.metadata()?;
            match std::fs::metadata(path) {
                Ok(named) if (named.dev(), named.ino()) == (own.dev(), own.ino()) => {
                    return Ok(Self { path: path.to_owned(), file });
                }
                _ => {}
            }
        }
    }

    /// What a process that was killed left in it. A line that it did not finish is of a thread that
    /// it had not changed yet.
    pub(super) fn read(&mut self) -> io::Result<Vec<Entry>> {
        let mut text = String::new();
        self.file.rewind()?;
        (&self.file).take(BYTES_MAX).read_to_string(&mut text)?;
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Adds threads. They are in the file when this returns, and may be changed.
    pub(super) fn write(&mut self, entries: &[Entry]) -> io::Result<()> {
        let mut text = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut text, entry)?;
            text.push(b'\n');
        }
        self.file.write_all(&text)?;
        self.file.sync_data()
    }

    /// All of it is put back: takes it away.
    pub(super) fn end(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}
