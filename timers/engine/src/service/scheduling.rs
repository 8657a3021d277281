//! At which priority threads run: the levels' own, and those that arm timers.

use crate::Level;
use rustix::thread::set_current_timer_slack;
use std::fmt;
use std::io;
use std::num::NonZeroU64;
use thread_priority::unix::{
    RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id, thread_schedule_policy_param,
};
use thread_priority::{Error, ThreadPriority, ThreadPriorityValue};

/// What a level's thread was given, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// It runs at `SCHED_FIFO`.
    Fifo {
        /// Which level's.
        level: Level,
        /// 1–99.
        priority: u8,
    },
    /// It was not asked to have a priority of its own: it runs like the thread that started the
    /// service.
    AsStarter {
        /// Which level's.
        level: Level,
    },
    /// `SCHED_FIFO` was refused; it runs like the thread that started the service, and other work may
    /// hold its timers up.
    NotFifo {
        /// Which level's.
        level: Level,
        /// What was asked for.
        priority: u8,
        /// What the system said.
        reason: String,
    },
    /// Its timer slack could not be set: where it has no real-time policy it may sleep 50 µs longer.
    Slack {
        /// Which level's.
        level: Level,
        /// What the system said.
        reason: String,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fifo { level, priority } => {
                write!(f, "timer level {}: SCHED_FIFO {priority}", level.number())
            }
            Self::AsStarter { level } => {
                write!(f, "timer level {}: policy and priority of its starter", level.number())
            }
            Self::NotFifo { level, priority, reason } => write!(
                f,
                "timer level {}: no SCHED_FIFO {priority} ({reason}), so other work may hold it up; \
                 CAP_SYS_NICE or a higher RLIMIT_RTPRIO allows it",
                level.number()
            ),
            Self::Slack { level, reason } => {
                write!(f, "timer level {}: timer slack not set ({reason})", level.number())
            }
        }
    }
}

/// Prepares the calling thread to be that of `level`; 0: no priority of its own.
pub(super) fn prepare(level: Level, priority: u8) -> Vec<Note> {
    let scheduled = match priority {
        0 => Note::AsStarter { level },
        priority => match set_fifo(priority) {
            Ok(()) => Note::Fifo { level, priority },
            Err(error) => Note::NotFifo { level, priority, reason: error.to_string() },
        },
    };
    // The thread ends with the service: there is nothing to restore.
    let slack = set_current_timer_slack(NonZeroU64::new(1)).err();
    let slack = slack.map(|error| Note::Slack { level, reason: error.to_string() });
    [scheduled].into_iter().chain(slack).collect()
}

fn set_fifo(priority: u8) -> io::Result<()> {
    let value = ThreadPriorityValue::try_from(priority).map_err(io::Error::other)?;
    set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Crossplatform(value),
        ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo),
    )
    .map_err(|error| match error {
        Error::OS(errno) => io::Error::from_raw_os_error(errno),
        other => io::Error::other(other),
    })
}

/// The level for [`Priority::Inherit`](crate::Priority::Inherit): how many of `thresholds` the calling
/// thread's real-time priority reaches. A thread without one has 0, one at `SCHED_DEADLINE` 100.
///
/// It is what the C library knows: glibc asks the kernel once for each thread and remembers what is
/// set through it, so that a priority changed from outside later, as by `chrt`, goes unnoticed.
pub(super) fn inherited(thresholds: [u8; Level::COUNT - 1]) -> Level {
    let priority = match thread_schedule_policy_param(thread_native_id()) {
        Ok((ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Deadline), _)) => 100,
        Ok((ThreadSchedulePolicy::Realtime(_), parameters)) => parameters.sched_priority,
        Ok(_) | Err(_) => 0,
    };
    level_of(priority, thresholds)
}

fn level_of(priority: i32, thresholds: [u8; Level::COUNT - 1]) -> Level {
    let reached = thresholds.iter().filter(|threshold| priority >= i32::from(**threshold)).count();
    Level::new(reached as u8).unwrap_or(Level::HIGHEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_become_levels() {
        for (priority, level) in [(0, 0), (1, 1), (33, 1), (34, 2), (66, 2), (67, 3), (100, 3)] {
            assert_eq!(level_of(priority, [1, 34, 67]).number(), level, "{priority}");
        }
        assert_eq!(level_of(99, [100, 100, 100]), Level::LOWEST, "only deadline threads");
    }
}
