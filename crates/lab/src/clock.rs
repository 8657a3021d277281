//! Reading `CLOCK_MONOTONIC` and sleeping by it.

use rustix::io::Errno;
use rustix::thread::{clock_nanosleep_absolute, clock_nanosleep_relative};
use rustix::time::{ClockId, Timespec, clock_gettime};

const SECOND_NS: u64 = 1_000_000_000;

/// The time now, in nanoseconds of `CLOCK_MONOTONIC`. Reads the vDSO, no system call.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * SECOND_NS + now.tv_nsec as u64
}

/// Sleeps until `expiry_ns`. A time in the past returns at once.
///
/// # Errors
/// `EINTR` where a signal came first.
#[inline]
pub(crate) fn sleep_until(expiry_ns: u64) -> Result<(), Errno> {
    clock_nanosleep_absolute(ClockId::Monotonic, &timespec(expiry_ns))
}

/// Sleeps for `ns`, or less where a signal comes.
#[inline]
pub(crate) fn sleep_for(ns: u64) {
    let _ = clock_nanosleep_relative(ClockId::Monotonic, &timespec(ns));
}

/// CPU time of the calling thread. A system call.
#[inline]
pub(crate) fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * SECOND_NS + time.tv_nsec as u64
}

#[inline]
pub(crate) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / SECOND_NS) as i64, tv_nsec: (ns % SECOND_NS) as _ }
}
