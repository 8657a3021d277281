//! What was changed, by whom.

use crate::place::{Place, Thread};
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};
use tardy_host::boot_id;

/// The longest reason that is kept, characters.
const WHY_CHARS_MAX: usize = 200;

/// A place that is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Which.
    pub place: Place,
    /// What it held; `None` where it was not there.
    pub old: Option<String>,
    /// What it was set to; `None` where it was taken away.
    pub new: Option<String>,
    /// The change that it is of, as it is written.
    pub why: String,
    /// When, in seconds since 1970.
    pub unix_s: u64,
    /// The boot in which it was done.
    pub(super) boot: String,
    /// The process that did it.
    pub(super) by: Thread,
}

impl Entry {
    pub(super) fn new(place: Place, old: Option<String>, new: Option<String>, why: &str) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let nobody = || Thread { tid: 0, start: 0, name: String::new() };
        Self {
            place,
            old,
            new,
            why: why.chars().take(WHY_CHARS_MAX).collect(),
            unix_s: since.map_or(0, |since| since.as_secs()),
            boot: boot_id(),
            by: Thread::of(std::process::id()).unwrap_or_else(nobody),
        }
    }

    /// Whether who did it still runs, and may be at work on it.
    pub(super) fn is_owned(&self) -> bool {
        self.boot == boot_id() && self.by.is_there()
    }

    /// Whether a boot has undone it since.
    pub(super) fn is_of_another_boot(&self) -> bool {
        self.boot != boot_id()
    }
}
