//! Why a recording was kept.

use serde::{Deserialize, Serialize};

/// The cause of what a hypervisor took.
const HYPERVISOR: &str = "hypervisor";

/// What the explanation calls who records.
const RECORDER: &str = "tardy's recorder";

/// The wakeup for which a recording was kept: what `explain` begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trigger {
    /// Who was late: its thread id.
    pub task: u32,
    /// Its name.
    pub name: String,
    /// Where it ran.
    pub cpu: u16,
    /// From when its lateness counts, in nanoseconds of the recording's clock.
    pub expiry_ns: u64,
    /// How late it was.
    pub lateness_ns: u64,
    /// What of that was of its own choosing: its timer's slack, and that it asked too late.
    pub own_ns: u64,
    /// The bound that it exceeded.
    pub over_ns: u64,
    /// When it ran, in nanoseconds since 1970-01-01 UTC.
    pub ran_unix_ns: u64,
    /// The cause that took most.
    pub cause: String,
    /// Who did most of that; empty where nobody is known.
    pub culprit: String,
}

impl Trigger {
    /// How late it was beyond its own choosing: what recordings are ranked by.
    pub fn excess_ns(&self) -> u64 {
        self.lateness_ns.saturating_sub(self.own_ns)
    }

    /// Who it is counted for: the culprit, whichever of its threads it was, or the cause where nobody is known.
    pub fn who(&self) -> &str {
        match self.culprit.split_once(" (") {
            Some((name, _)) => name,
            None if self.culprit.is_empty() => &self.cause,
            None => &self.culprit,
        }
    }

    /// Who it comes from: whatever is not the system's own is no reason to change that.
    pub fn origin(&self) -> Origin {
        if self.cause == HYPERVISOR {
            Origin::Host
        } else if self.who() == RECORDER {
            Origin::Recorder
        } else {
            Origin::System
        }
    }
}

/// Where a lateness comes from, what can be helped first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// This system.
    System,
    /// What recorded it: without that it would not be there.
    Recorder,
    /// The hypervisor.
    Host,
}

impl Origin {
    /// For a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Self::System => "this system",
            Self::Recorder => "the watch itself",
            Self::Host => "the hypervisor",
        }
    }
}
