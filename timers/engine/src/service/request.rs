//! What timer is wanted, and how it is named.

use crate::{Class, Expiry, Kind, Level, Priority};

/// A timer that is wanted: when, of what type, at which priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When, on the service's clock.
    pub expiry: Expiry,
    /// Its type and priority.
    pub class: Class,
    /// A number that reports name the timer by; the service does not look at it.
    pub tag: u64,
}

impl Request {
    /// A precise timer of the lowest level, tag 0.
    pub const fn new(expiry: Expiry) -> Self {
        let priority = Priority::Level(Level::LOWEST);
        Self { expiry, class: Class { kind: Kind::Precise, priority }, tag: 0 }
    }

    /// The same, at `time_ns`.
    pub const fn at(time_ns: u64) -> Self {
        Self::new(Expiry::at(time_ns))
    }

    /// Of another type.
    #[must_use]
    pub const fn kind(mut self, kind: Kind) -> Self {
        self.class.kind = kind;
        self
    }

    /// At another priority.
    #[must_use]
    pub const fn priority(mut self, priority: Priority) -> Self {
        self.class.priority = priority;
        self
    }

    /// At `level`.
    #[must_use]
    pub const fn level(self, level: Level) -> Self {
        self.priority(Priority::Level(level))
    }

    /// With another tag.
    #[must_use]
    pub const fn tag(mut self, tag: u64) -> Self {
        self.tag = tag;
        self
    }
}

/// Names one timer of one service until it fires or is cancelled; stale after that, for 3.5·10¹³
/// timers in the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timer {
    pub(super) service: u32,
    pub(super) slot: u32,
    pub(super) generation: u64,
    pub(super) level: Level,
}

impl Timer {
    /// At which level it fires.
    pub const fn level(self) -> Level {
        self.level
    }
}
