//! What can go wrong.

use super::delivery::Delivery;
use std::io;

/// A timer was not armed. What it was to do comes back.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// As many timers of that level are armed as the service has room for. It is counted in the
    /// level's report. Try again when one has fired, or build the service with more room.
    #[error("all timers of this level are in use")]
    Full(Delivery),
    /// The service was dropped.
    #[error("the timer service has ended")]
    Stopped(Delivery),
    /// This is a child process: the service's threads are in the parent. Build another service.
    #[error("this process was forked from the one that has the timer service")]
    Forked(Delivery),
}

impl ArmError {
    /// What the timer was to do.
    pub fn into_delivery(self) -> Delivery {
        match self {
            Self::Full(delivery) | Self::Stopped(delivery) | Self::Forked(delivery) => delivery,
        }
    }
}

/// A timer was neither cancelled nor moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// It has fired, is being fired at this moment, or was cancelled, by somebody or because the
    /// service ended.
    #[error("the timer is not armed any more")]
    TooLate,
    /// It is another service's.
    #[error("the timer belongs to another service")]
    Foreign,
    /// This is a child process; timers armed before the fork fire in the parent alone.
    #[error("this process was forked from the one that has the timer service")]
    Forked,
}

/// A service was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// More timers for a level than there can be.
    #[error("{asked} timers for each level; 1 to {max} are possible")]
    Capacity {
        /// How many were asked for.
        asked: usize,
        /// How many there can be.
        max: usize,
    },
    /// The system refused a thread, or file descriptors.
    #[error("cannot start the thread of timer level {level}")]
    Thread {
        /// Which level's.
        level: u8,
        /// Why.
        source: io::Error,
    },
    /// The process could not be made to notice a fork.
    #[error("cannot have forks noticed: {0}")]
    Fork(String),
}
