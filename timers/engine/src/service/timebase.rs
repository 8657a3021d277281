//! On which clock a service's times are.

use rustix::time::{ClockId, clock_gettime};

/// The clock of a service.
///
/// They differ where the system is suspended. After it, timers whose time has passed fire at once, each
/// once, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Clock {
    /// `CLOCK_MONOTONIC` stands still in suspend: a timer that was to fire in ten minutes fires after
    /// ten minutes awake, which is later by the time suspended as seen on a clock on the wall.
    #[default]
    Monotonic,
    /// `CLOCK_BOOTTIME` goes on in suspend. What fell due meanwhile fires after the resume; the system
    /// is not woken for it. Sleeping costs three system calls instead of one.
    Boottime,
}

impl Clock {
    /// The time on it, ns.
    pub fn now_ns(self) -> u64 {
        match self {
            Self::Monotonic => crate::clock::now_ns(),
            Self::Boottime => {
                let now = clock_gettime(ClockId::Boottime);
                now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
            }
        }
    }
}
