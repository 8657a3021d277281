//! `CLOCK_MONOTONIC`, as a number.
//!
//! Every driver in this crate counts in nanoseconds of `CLOCK_MONOTONIC`, as `u64`. It stands still
//! while the machine is suspended. [`std::time::Instant`] is read from the same clock on Linux but
//! does not show its number; a [`Moment`] is made from it by difference.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, Timespec, clock_gettime};

const SECOND_NS: u64 = 1_000_000_000;

/// The time now, in nanoseconds of `CLOCK_MONOTONIC`. Reads the vDSO, no system call.
///
/// ```
/// let before_ns = tardy_timers::clock::now_ns();
/// assert!(tardy_timers::clock::now_ns() >= before_ns);
/// ```
#[inline]
pub fn now_ns() -> u64 {
    number_ns(clock_gettime(ClockId::Monotonic))
}

/// The CPU time this thread has used so far, ns (`CLOCK_THREAD_CPUTIME_ID`). One system call.
#[inline]
pub fn thread_cpu_ns() -> u64 {
    number_ns(clock_gettime(ClockId::ThreadCPUTime))
}

/// A point in time: nanoseconds of `CLOCK_MONOTONIC`.
///
/// ```
/// use std::time::{Duration, Instant};
/// use tardy_timers::clock::{Moment, now_ns};
///
/// assert_eq!(Moment::from(17).ns(), 17);
/// let soon = Moment::from(Instant::now() + Duration::from_secs(1));
/// assert!(soon.ns() > now_ns());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    pub const fn ns(self) -> u64 {
        self.0
    }
}

impl From<u64> for Moment {
    fn from(ns: u64) -> Self {
        Self(ns)
    }
}

impl From<Instant> for Moment {
    /// Costs two clock reads (about 50 ns). The result is later than the instant by the time between
    /// the two reads, never earlier, so that a sleep until it is not early either.
    fn from(instant: Instant) -> Self {
        let then = Instant::now();
        let now_ns = now_ns();
        Self(match instant.checked_duration_since(then) {
            Some(ahead) => now_ns.saturating_add(duration_ns(ahead)),
            None => now_ns.saturating_sub(duration_ns(then - instant)),
        })
    }
}

/// A duration as nanoseconds; one beyond 584 years is the longest there is.
pub(crate) fn duration_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A number as the kernel takes it. All of `u64` fits.
pub(crate) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / SECOND_NS) as i64, tv_nsec: (ns % SECOND_NS) as _ }
}

#[inline]
fn number_ns(time: Timespec) -> u64 {
    (time.tv_sec as u64).saturating_mul(SECOND_NS).saturating_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_time_survives_the_way_to_the_kernel() {
        for ns in [0, 1, SECOND_NS - 1, SECOND_NS, u64::MAX] {
            assert_eq!(number_ns(timespec(ns)), ns);
        }
        assert_eq!(duration_ns(Duration::MAX), u64::MAX);
    }

    #[test]
    fn an_instant_is_never_made_earlier() {
        let before_ns = now_ns();
        let moment = Moment::from(Instant::now());
        assert!(moment.ns() >= before_ns);
        let past = Instant::now().checked_sub(Duration::from_nanos(1)).unwrap_or_else(Instant::now);
        assert!(Moment::from(past).ns() <= now_ns());
    }
}
