//! What the kernel's other clocks show, beside `CLOCK_MONOTONIC`.

use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

/// How far a machine's clocks are ahead of `CLOCK_MONOTONIC`, and the tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// `CLOCK_REALTIME` minus `CLOCK_MONOTONIC`, in nanoseconds.
    pub realtime_ahead_ns: i64,
    /// `CLOCK_BOOTTIME` minus `CLOCK_MONOTONIC`: the time suspended.
    pub boottime_ahead_ns: i64,
    /// From one tick to the next: 10^9 / HZ.
    pub tick_ns: u64,
}

impl Clocks {
    /// This machine's, now. A step of the wall clock later makes the first wrong by as much.
    pub fn now() -> Self {
        let monotonic_ns = now_ns() as i64;
        let ahead = |clock| nanoseconds(clock_gettime(clock)) - monotonic_ns;
        Self {
            realtime_ahead_ns: ahead(ClockId::Realtime),
            boottime_ahead_ns: ahead(ClockId::Boottime),
            // The coarse clock moves once a tick, and its resolution says so.
            tick_ns: nanoseconds(clock_getres(ClockId::MonotonicCoarse)).max(1) as u64,
        }
    }
}

/// `CLOCK_MONOTONIC`, in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic)) as u64
}

fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}
