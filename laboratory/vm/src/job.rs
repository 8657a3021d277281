//! What a guest is to do: a file in its first file system, written by the host.

use serde::{Deserialize, Serialize};

/// Where it lies in the guest: a name that no first file system of another has, since a program that is
/// process 1 takes the file for a sign that it is a guest.
pub(crate) const JOB_FILE: &str = "/tardy-guest-job.json";

/// The folder whose files come back; the command begins in it.
pub(crate) const OUT: &str = "/out";

/// Where the guest's own tardy lies.
pub(crate) const PROGRAM: &str = "/bin/tardy";

/// What a guest is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Modules to load first, in this order: files in the guest.
    pub(crate) modules: Vec<String>,
    /// The command and its arguments.
    pub(crate) command: Vec<String>,
    /// How long to wait before it begins: shifts all its timers against the kernel's.
    pub(crate) offset_ns: u64,
}
