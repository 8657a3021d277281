//! A scheduling policy with its priority, as it is written.

use std::fmt;

/// The real-time priority, 1–99, that is advised where any does: that of interrupt threads.
pub const PRIORITY_ADVISED: u8 = 50;

/// A policy with what it is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheduling {
    /// `other` or `other:-5`: `SCHED_OTHER` with a nice value, −20 to 19.
    Other(i8),
    /// `batch` or `batch:5`.
    Batch(i8),
    /// `idle`.
    Idle,
    /// `fifo:50`: 1 to 99.
    Fifo(u8),
    /// `rr:50`: 1 to 99.
    RoundRobin(u8),
}

impl Scheduling {
    /// Reads `fifo:50`, `rr:10`, `other`, `other:-5`, `batch`, `idle`. A number by itself is `SCHED_FIFO`'s, and
    /// `0` is `other`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (policy, number) = match text.split_once(':') {
            Some((policy, number)) => (policy, Some(number)),
            None if text == "0" => ("other", None),
            None if text.starts_with(|it: char| it.is_ascii_digit()) => ("fifo", Some(text)),
            None => (text, None),
        };
        let prio = || number?.parse().ok().filter(|prio| (1..=99).contains(prio));
        let nice = || match number {
            None => Some(0),
            Some(number) => number.parse().ok().filter(|nice| (-20..=19).contains(nice)),
        };
        match policy {
            "fifo" => Some(Self::Fifo(prio()?)),
            "rr" => Some(Self::RoundRobin(prio()?)),
            "other" => Some(Self::Other(nice()?)),
            "batch" => Some(Self::Batch(nice()?)),
            "idle" if number.is_none() => Some(Self::Idle),
            _ => None,
        }
    }

    /// By the kernel's names: `SCHED_FIFO 50`, `SCHED_OTHER with nice -5`.
    #[must_use]
    pub fn in_words(self) -> String {
        match self {
            Self::Other(0) => "SCHED_OTHER".to_owned(),
            Self::Other(nice) => format!("SCHED_OTHER with nice {nice}"),
            Self::Batch(0) => "SCHED_BATCH".to_owned(),
            Self::Batch(nice) => format!("SCHED_BATCH with nice {nice}"),
            Self::Idle => "SCHED_IDLE".to_owned(),
            Self::Fifo(prio) => format!("SCHED_FIFO {prio}"),
            Self::RoundRobin(prio) => format!("SCHED_RR {prio}"),
        }
    }

    /// Whether it is real-time: no timer slack, and before all that is not.
    #[must_use]
    pub const fn is_real_time(self) -> bool {
        matches!(self, Self::Fifo(_) | Self::RoundRobin(_))
    }
}

impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(0) => f.write_str("other"),
            Self::Other(nice) => write!(f, "other:{nice}"),
            Self::Batch(0) => f.write_str("batch"),
            Self::Batch(nice) => write!(f, "batch:{nice}"),
            Self::Idle => f.write_str("idle"),
            Self::Fifo(prio) => write!(f, "fifo:{prio}"),
            Self::RoundRobin(prio) => write!(f, "rr:{prio}"),
        }
    }
}
