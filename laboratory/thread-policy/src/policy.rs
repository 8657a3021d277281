//! A scheduling policy, and how it is written: `fifo:70`, `rr:5`, `other`, `other:-5`, `batch`, `idle`.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A scheduling policy with what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_OTHER`.
    Other {
        /// −20 to 19; less is more of the CPU.
        nice: i8,
    },
    /// `SCHED_BATCH`.
    Batch {
        /// −20 to 19; less is more of the CPU.
        nice: i8,
    },
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_FIFO`.
    Fifo {
        /// 1 to 99.
        prio: u8,
    },
    /// `SCHED_RR`.
    Rr {
        /// 1 to 99.
        prio: u8,
    },
}

/// Why a text is no policy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{text:?} is not a policy: write fifo:PRIO or rr:PRIO (1 to 99), other or batch (with :NICE, \
        -20 to 19), or idle"
)]
pub struct PolicyError {
    /// The text.
    text: String,
}

impl Policy {
    /// Whether its numbers are those that there are.
    pub(crate) fn is_possible(self) -> bool {
        match self {
            Self::Other { nice } | Self::Batch { nice } => (-20..=19).contains(&nice),
            Self::Idle => true,
            Self::Fifo { prio } | Self::Rr { prio } => (1..=99).contains(&prio),
        }
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let wrong = || PolicyError { text: text.chars().take(64).collect() };
        let (name, number) = text.split_once(':').map_or((text, None), |(name, n)| (name, Some(n)));
        let prio = || number.and_then(|number| number.parse().ok()).ok_or_else(wrong);
        let nice = || number.map_or(Ok(0), |number| number.parse().map_err(|_| wrong()));
        let policy = match name {
            "fifo" => Self::Fifo { prio: prio()? },
            "rr" => Self::Rr { prio: prio()? },
            "other" => Self::Other { nice: nice()? },
            "batch" => Self::Batch { nice: nice()? },
            "idle" if number.is_none() => Self::Idle,
            _ => return Err(wrong()),
        };
        if policy.is_possible() { Ok(policy) } else { Err(wrong()) }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other { nice: 0 } => f.write_str("other"),
            Self::Other { nice } => write!(f, "other:{nice}"),
            Self::Batch { nice: 0 } => f.write_str("batch"),
            Self::Batch { nice } => write!(f, "batch:{nice}"),
            Self::Idle => f.write_str("idle"),
            Self::Fifo { prio } => write!(f, "fifo:{prio}"),
            Self::Rr { prio } => write!(f, "rr:{prio}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["fifo:1", "fifo:99", "rr:5", "other", "other:-20", "batch:19", "idle"] {
            assert_eq!(text.parse::<Policy>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_none_is_refused_with_what_would_be() {
        for text in
            ["", "fifo", "fifo:", "fifo:0", "fifo:100", "fifo:300", "other:20", "idle:1", "FIFO:1"]
        {
            let error = text.parse::<Policy>().unwrap_err().to_string();
            assert!(error.contains("write fifo:PRIO"), "{text}: {error}");
        }
    }
}
