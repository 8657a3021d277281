//! The clock of all events, and how far the others are from it.

use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic_ns() -> u64 {
    in_ns(clock_gettime(ClockId::Monotonic))
}

fn in_ns(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How far other clocks are ahead of `CLOCK_MONOTONIC`. Timers armed against those clocks carry
/// their expiry in them.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClockOffsets {
    realtime_ahead_ns: i128,
    boottime_ahead_ns: i128,
    tai_ahead_ns: i128,
}

impl ClockOffsets {
    /// Reads all clocks now. The offsets are off by what passes between two readings, below a
    /// microsecond unless the thread is interrupted there; the least of three tries is kept.
    pub fn read() -> Self {
        let ahead = |clock: DynamicClockId<'_>| {
            let once = || {
                let before = monotonic_ns();
                let time = clock_gettime_dynamic(clock).ok()?;
                Some(i128::from(in_ns(time)) - i128::from(before))
            };
            (0..3).filter_map(|_| once()).min().unwrap_or(0)
        };
        Self {
            realtime_ahead_ns: ahead(DynamicClockId::Known(ClockId::Realtime)),
            boottime_ahead_ns: ahead(DynamicClockId::Boottime),
            tai_ahead_ns: ahead(DynamicClockId::Tai),
        }
    }

    /// A time of the clock with the kernel's id `clock`, as `CLOCK_MONOTONIC`.
    pub fn to_monotonic_ns(self, clock: u32, ns: u64) -> u64 {
        let ahead_ns = match clock {
            0 => self.realtime_ahead_ns,
            7 => self.boottime_ahead_ns,
            11 => self.tai_ahead_ns,
            _ => return ns,
        };
        (i128::from(ns) - ahead_ns).clamp(0, i128::from(u64::MAX)) as u64
    }
}
