//! Changes of our own to a kernel's source.

use crate::VmError;
use crate::command::Job;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A change to a kernel's source, as `diff -u` writes it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Patch {
    /// The name of its file.
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

/// Seconds on any machine.
const LIMIT: Duration = Duration::from_secs(60);

impl Patch {
    /// Applies it to the source in `tree`; what `patch` says goes to the end of `log`.
    pub(super) fn apply(&self, tree: &Path, log: &Path) -> Result<(), VmError> {
        let file = tree.join(self.name);
        fs::write(&file, self.text).map_err(VmError::file("write", &file))?;
        Job::new("patch", format!("apply {} to the kernel's source", self.name), LIMIT)
            // Never asks, and takes nothing for a patch the other way round.
            .args(["-p1", "--batch", "--forward", "--no-backup-if-mismatch", "-i", self.name])
            .within(tree)
            .logged(log)
    }
}

#[cfg(test)]
mod tests;
