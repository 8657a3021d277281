//! The clock of all events, and how far the others are from it.

use rustix::time::{
    ClockId, DynamicClockId, Timespec, clock_getres, clock_gettime, clock_gettime_dynamic,
};

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic_ns() -> u64 {
    in_ns(clock_gettime(ClockId::Monotonic)) as u64
}

/// From one tick to the next, in nanoseconds: 10^9 / HZ.
pub fn tick_ns() -> u64 {
    // The coarse clock moves once a tick, and its resolution says so.
    in_ns(clock_getres(ClockId::MonotonicCoarse)).max(1) as u64
}

fn in_ns(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

/// How far other clocks are ahead of `CLOCK_MONOTONIC`, in nanoseconds. Timers armed against those
/// clocks carry their expiry in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockOffsets {
    /// `CLOCK_REALTIME`.
    pub realtime_ahead_ns: i64,
    /// `CLOCK_BOOTTIME`: the time suspended.
    pub boottime_ahead_ns: i64,
    /// `CLOCK_TAI`: as `CLOCK_REALTIME`, and the leap seconds where somebody told the kernel.
    pub tai_ahead_ns: i64,
}

impl ClockOffsets {
    /// Reads all clocks now. The offsets are off by what passes between two readings, below a
    /// microsecond unless the thread is interrupted there; the least of three tries is kept.
    pub fn read() -> Self {
        let ahead = |clock: DynamicClockId<'_>| {
            let once = || {
                let before_ns = in_ns(clock_gettime(ClockId::Monotonic));
                let time = clock_gettime_dynamic(clock).ok()?;
                Some(in_ns(time).saturating_sub(before_ns))
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
        (i128::from(ns) - i128::from(ahead_ns)).clamp(0, i128::from(u64::MAX)) as u64
    }
}

/// How often the offsets are read again: they move when somebody sets the time.
const OFFSETS_EVERY_NS: u64 = 1_000_000_000;

/// This machine's [`ClockOffsets`], never older than a second.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    offsets: ClockOffsets,
    read_ns: u64,
}

impl Clocks {
    /// Reads them.
    pub fn read() -> Self {
        Self { offsets: ClockOffsets::read(), read_ns: monotonic_ns() }
    }

    /// The offsets for what happened at `time_ns`, which is about now.
    #[inline]
    pub fn at(&mut self, time_ns: u64) -> ClockOffsets {
        if time_ns.saturating_sub(self.read_ns) > OFFSETS_EVERY_NS {
            *self = Self { offsets: ClockOffsets::read(), read_ns: time_ns };
        }
        self.offsets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_other_clocks_become_monotonic() {
        let offsets =
            ClockOffsets { realtime_ahead_ns: 1000, boottime_ahead_ns: 50, tai_ahead_ns: 1037 };
        for (clock, ns, expected_ns) in
            [(0, 1500, 500), (1, 500, 500), (7, 550, 500), (11, 1537, 500), (0, 10, 0)]
        {
            assert_eq!(offsets.to_monotonic_ns(clock, ns), expected_ns, "clock {clock}");
        }
    }

    #[test]
    fn this_machine_has_plausible_clocks() {
        let offsets = Clocks::read().at(monotonic_ns());
        // The same clock, and the time suspended on top.
        assert!(offsets.boottime_ahead_ns >= 0, "{offsets:?}");
        assert!((1_000_000..=100_000_000).contains(&tick_ns()), "{}", tick_ns());
    }
}
