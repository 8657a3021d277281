//! What time it is.

use rustix::time::{ClockId, clock_gettime};

/// The time of `CLOCK_MONOTONIC`, ns. It stands still while the system is suspended.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
