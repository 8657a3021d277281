//! The time now.

use tardy_timers::clock::now_ns;

/// The time now, in nanoseconds of CLOCK_MONOTONIC: the clock of all times here, unless a service is
/// made for another. No system call.
#[unsafe(no_mangle)]
pub extern "C" fn tardy_now_ns() -> u64 {
    now_ns()
}
