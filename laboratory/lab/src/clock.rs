//! Reading `CLOCK_MONOTONIC` and sleeping by it.

use rustix::io::Errno;
use rustix::thread::{clock_nanosleep_absolute, clock_nanosleep_relative};
use rustix::time::{ClockId, Timespec};

pub(crate) use tardy_timers::clock::{now_ns, thread_cpu_ns as cpu_ns};

const SECOND_NS: u64 = 1_000_000_000;

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

/// Pairs of readings from which a clock's cost is taken.
const CALIBRATIONS: usize = 1001;

/// The median of what two readings of a clock in a row differ by.
pub(crate) fn cost_ns(clock_ns: impl Fn() -> u64) -> u64 {
    let mut costs: Vec<u64> = (0..CALIBRATIONS)
        .map(|_| {
            let before_ns = clock_ns();
            clock_ns().saturating_sub(before_ns)
        })
        .collect();
    costs.sort_unstable();
    costs[CALIBRATIONS / 2]
}

#[inline]
pub(crate) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / SECOND_NS) as i64, tv_nsec: (ns % SECOND_NS) as _ }
}
