//! What was changed, by whom.

use super::family::Family;
use super::namespace::{self, Namespaces};
use crate::place::{Place, Thread};
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};
use tardy_host::{Root, boot_id};

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
    /// The PID namespace of which numbers in it are.
    #[serde(default)]
    pub(super) namespace: Option<u64>,
    /// Of whose process the thread is, where others inherit from it.
    #[serde(default)]
    pub(super) family: Option<Family>,
    /// What the system makes of a text at each boot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) effects: Vec<Effect>,
}

/// A value that a text has the system set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Effect {
    pub(super) place: Place,
    pub(super) old: String,
    pub(super) new: String,
}

impl Effect {
    /// That of a line that is changed together with the text.
    pub(super) fn of(entry: &Entry) -> Option<Self> {
        let is_file = matches!(entry.place, Place::File { .. }) && !entry.place.is_beside();
        let values = entry.old.clone().zip(entry.new.clone()).filter(|_| is_file);
        values.map(|(old, new)| Self { place: entry.place.clone(), old, new })
    }
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
            namespace: namespace::own(),
            family: None,
            effects: Vec::new(),
        }
    }

    /// With who may inherit what is changed.
    pub(super) fn with_family(self, root: &Root) -> Self {
        Self { family: Family::of(&self.place, root), ..self }
    }

    /// Whether who did it still runs, and may be at work on it. Of one in another PID namespace that is not known, unless
    /// nobody is there any more.
    pub(super) fn is_owned(&self, namespaces: &Namespaces) -> bool {
        if self.is_of_another_boot() {
            return false;
        }
        match self.namespace.filter(|_| self.is_elsewhere()) {
            Some(namespace) => !namespaces.is_gone(namespace),
            None => self.by.is_there(),
        }
    }

    /// Whether numbers of threads and processes in it mean nothing here: they are of another PID namespace.
    pub fn is_elsewhere(&self) -> bool {
        let own = namespace::own();
        !self.is_of_another_boot() && self.namespace.is_some_and(|it| Some(it) != own)
    }

    /// Whether a boot has undone it since.
    pub(super) fn is_of_another_boot(&self) -> bool {
        self.boot != boot_id()
    }
}
