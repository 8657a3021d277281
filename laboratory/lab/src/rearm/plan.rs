//! What a comparison of moved timeouts is to do, and why it cannot.

use crate::clock::{now_ns, sleep_until};
use std::time::Duration;
use thiserror::Error;

/// A comparison of ways to move a timeout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How long after the last move it expires; at most [`TIMEOUT_MAX_NS`].
    pub timeout_ns: u64,
    /// From one move to the next; less than `timeout_ns`.
    pub every_ns: u64,
    /// How long each method is moved, pauses included.
    pub duration: Duration,
    /// How long it is moved, on average, before a pause in which it expires.
    pub pause_after_ns: u64,
    /// How the moving thread waits for its next move.
    pub pace: Pace,
    /// Chooses the pauses and the order of the methods.
    pub seed: u64,
}

/// The longest timeout: each pause waits for it.
pub const TIMEOUT_MAX_NS: u64 = 1_000_000_000;

/// How the moving thread waits for the time of its next move. The times are absolute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pace {
    /// It reads the clock until then: what a thread does that has work between the moves.
    #[default]
    Spin,
    /// It sleeps, with a slack of 1 ns. Its own sleeps are timers too.
    Sleep,
}

impl Pace {
    /// Waits so for `until_ns` of `CLOCK_MONOTONIC`.
    pub(crate) fn wait_until(self, until_ns: u64) {
        match self {
            Self::Spin => {
                while now_ns() < until_ns {
                    std::hint::spin_loop();
                }
            }
            Self::Sleep => {
                let _ = sleep_until(until_ns);
            }
        }
    }
}

impl Default for Plan {
    /// The case of "Re: \[PATCH\] hrtimer: Update `softirq_expires_next` correctly after
    /// `__hrtimer_get_next_event()`" (Thomas Gleixner, 21 April 2021): 300 µs after the last packet,
    /// one every 20 µs.
    fn default() -> Self {
        Self {
            timeout_ns: 300_000,
            every_ns: 20_000,
            duration: Duration::from_secs(3),
            pause_after_ns: 2_000_000,
            pace: Pace::default(),
            seed: 1,
        }
    }
}

/// Why moved timeouts could not be measured.
#[derive(Debug, Error)]
pub enum RearmError {
    /// The times do not fit together.
    #[error(
        "a timeout of {timeout_ns} ns moved every {every_ns} ns cannot be measured: moves must come \
         before it expires, and it may be at most 1 s"
    )]
    Times {
        /// The timeout.
        timeout_ns: u64,
        /// From move to move.
        every_ns: u64,
    },
    /// A call failed.
    #[error("{method} failed: {source}")]
    Method {
        /// Which.
        method: &'static str,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A thread could not be made.
    #[error("a measuring thread could not be made: {0}")]
    Spawn(std::io::Error),
    /// One ended without a result.
    #[error("a measuring thread ended without a result: this is a bug in tardy, please report it")]
    Gone,
}

impl Plan {
    pub(super) fn check(&self) -> Result<(), RearmError> {
        let Self { timeout_ns, every_ns, .. } = *self;
        if every_ns == 0 || every_ns >= timeout_ns || timeout_ns > TIMEOUT_MAX_NS {
            return Err(RearmError::Times { timeout_ns, every_ns });
        }
        Ok(())
    }
}
