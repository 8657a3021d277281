//! What a guest has left: its recordings are told where they come from.

use super::{Finished, Ready};
use crate::failure::{Failure, Outcome};
use crate::output;
use std::fs;
use std::path::{Path, PathBuf};
use tardy_files::{Access, Folder};
use tardy_recording::{Manifest, Vm};
use tardy_vm::{Fate, Ran};

/// How deep recordings lie in a run's folder: `recordings/run-1`.
const DEPTH_MAX: usize = 3;

/// The source of recordings that were made in a guest.
const SOURCE: &str = "vm";

/// Tells every recording below `folder` which guest it was made in.
pub(crate) fn describe(folder: &Path, ready: &Ready, ran: &Ran) -> Result<(), Failure> {
    let machine = ready.machine();
    for recording in recordings_below(folder) {
        let amended = Manifest::amend(&recording, |manifest| {
            let recorded_by = std::mem::replace(&mut manifest.source, SOURCE.to_owned());
            manifest.vm = Some(Vm {
                recorded_by,
                kernel: ready.kernel.clone(),
                instruction_ns: machine.mips.instruction_ns(),
                memory_mib: machine.memory_mib,
                seed: machine.seed,
                append: machine.append.clone(),
                qemu: ran.qemu.clone(),
            });
        });
        amended.map_err(|error| Failure::new(error.to_string()))?;
    }
    Ok(())
}

/// The folders with a recording, at `folder` or below.
pub(crate) fn recordings_below(folder: &Path) -> Vec<PathBuf> {
    recordings(folder, DEPTH_MAX)
}

fn recordings(folder: &Path, depth: usize) -> Vec<PathBuf> {
    if Manifest::read(folder).is_ok() {
        return vec![folder.to_owned()];
    }
    if depth == 0 {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // What is hidden was not finished.
    let is_hidden = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".");
    let entries = entries.filter(|entry| !is_hidden(&entry.file_name()));
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders.iter().flat_map(|below| recordings(below, depth - 1)).collect()
}

impl Finished {
    /// Keeps what the command said beside what it wrote.
    pub(crate) fn keep(&self, folder: &Path) -> Result<(), Failure> {
        for (name, bytes) in [("stdout.txt", &self.stdout), ("stderr.txt", &self.stderr)] {
            let hosts = folder.join(super::HOSTS);
            if !bytes.is_empty() {
                Folder::open(&hosts)
                    .and_then(|folder| folder.replace(name, bytes, Access::Private))
                    .map_err(|error| output::cannot_write(&hosts.join(name), &error))?;
            }
        }
        Ok(())
    }

    /// What the command's end means for ours.
    pub(crate) fn outcome(&self) -> Result<Outcome, Failure> {
        match &self.ran.fate {
            Fate::Ended { status: Some(0), .. } | Fate::Stopped => Ok(Outcome::Fine),
            Fate::Ended { status: Some(3), .. } => Ok(Outcome::BoundExceeded),
            Fate::Ended { status: Some(2), .. } => {
                Err(Failure::usage("the command in the guest ended with status 2: wrong usage"))
            }
            Fate::Ended { status: Some(status), .. } => {
                Err(Failure::new(format!("the command in the guest ended with status {status}")))
            }
            Fate::Ended { signal, .. } => Err(Failure::new(format!(
                "signal {} ended the command in the guest",
                signal.unwrap_or_default()
            ))),
            Fate::Broken(broken) => Err(Failure::new(broken.to_string())),
        }
    }
}
