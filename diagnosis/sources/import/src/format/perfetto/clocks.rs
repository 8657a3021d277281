//! From the clocks of stamps to `CLOCK_MONOTONIC`, by the trace's snapshots of several clocks.

use tardy_kernel::ClockOffsets;
use tardy_perfetto::{ClockSnapshot, clock};

/// Snapshots that are kept; a trace has one each ten seconds. Beyond it the last one holds.
const SNAPSHOTS_MAX: usize = 1 << 16;

/// A difference between `CLOCK_BOOTTIME` and `CLOCK_MONOTONIC` below this is the time from reading the
/// one to reading the other: nothing suspends for less.
const SUSPENDED_MIN_NS: i64 = 1_000_000;

/// What has been collected.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    snapshots: Vec<Snapshot>,
}

/// What clocks showed at one time; 0 where it is not told.
#[derive(Clone, Copy, Debug, Default)]
struct Snapshot {
    boot_ns: u64,
    monotonic_ns: u64,
    raw_ns: u64,
    real_ns: u64,
}

impl Snapshots {
    pub(super) fn take(&mut self, message: &ClockSnapshot) {
        let mut snapshot = Snapshot::default();
        for shown in &message.clocks {
            let ns = shown.timestamp().saturating_mul(shown.unit_multiplier_ns().max(1));
            match shown.clock_id() {
                clock::BOOTTIME => snapshot.boot_ns = ns,
                clock::MONOTONIC => snapshot.monotonic_ns = ns,
                clock::MONOTONIC_RAW => snapshot.raw_ns = ns,
                clock::REALTIME => snapshot.real_ns = ns,
                _ => {}
            }
        }
        if snapshot.monotonic_ns != 0 && self.snapshots.len() < SNAPSHOTS_MAX {
            self.snapshots.push(snapshot);
        }
    }

    pub(super) fn into_clocks(mut self) -> Clocks {
        self.snapshots.sort_by_key(|snapshot| snapshot.monotonic_ns);
        let pairs = |of: fn(&Snapshot) -> u64| {
            self.snapshots
                .iter()
                .map(move |at| (of(at), at.monotonic_ns))
                .filter(|(ns, _)| *ns != 0)
        };
        let mut clocks = Clocks::default();
        for (boot_ns, monotonic_ns) in pairs(|at| at.boot_ns) {
            let ahead_ns = difference(boot_ns, monotonic_ns);
            let ahead_ns = if ahead_ns.abs() < SUSPENDED_MIN_NS { 0 } else { ahead_ns };
            match clocks.boot.0.last_mut() {
                // The same, but for the time from one reading to the other. BOOTTIME is read first,
                // so the largest is nearest.
                Some(last) if last.ahead_ns.abs_diff(ahead_ns) < SUSPENDED_MIN_NS as u64 => {
                    last.ahead_ns = last.ahead_ns.max(ahead_ns);
                }
                _ => clocks.boot.0.push(Point { from_ns: boot_ns, monotonic_ns, ahead_ns }),
            }
        }
        for (raw_ns, monotonic_ns) in pairs(|at| at.raw_ns) {
            let ahead_ns = difference(raw_ns, monotonic_ns);
            clocks.raw.0.push(Point { from_ns: raw_ns, monotonic_ns, ahead_ns });
        }
        for at in &self.snapshots {
            let ahead_ns = |ns| if ns == 0 { 0 } else { difference(ns, at.monotonic_ns) };
            let boottime_ahead_ns = clocks.boot.at(at.boot_ns).map_or(0, |point| point.ahead_ns);
            let realtime_ahead_ns = ahead_ns(at.real_ns);
            let offsets = ClockOffsets {
                realtime_ahead_ns,
                boottime_ahead_ns,
                // Snapshots do not hold it; it differs by leap seconds where somebody set them.
                tai_ahead_ns: realtime_ahead_ns,
            };
            let is_new = clocks.offsets.last().is_none_or(|(_, last): &(u64, ClockOffsets)| {
                last.boottime_ahead_ns != offsets.boottime_ahead_ns
                    || last.realtime_ahead_ns.abs_diff(offsets.realtime_ahead_ns)
                        >= SUSPENDED_MIN_NS as u64
            });
            if is_new {
                clocks.offsets.push((at.monotonic_ns, offsets));
            }
        }
        clocks
    }
}

/// At most so far either way that it can be negated.
fn difference(later: u64, earlier: u64) -> i64 {
    (i128::from(later) - i128::from(earlier)).clamp((-i64::MAX).into(), i64::MAX.into()) as i64
}

/// How clocks went, against `CLOCK_MONOTONIC`.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    boot: Line,
    raw: Line,
    /// What other clocks are ahead by, and from when on.
    offsets: Vec<(u64, ClockOffsets)>,
}

/// Which clock a stamp is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StampClock {
    #[default]
    Boot,
    Monotonic,
    Raw,
    /// None that a snapshot could tell of.
    Other,
}

impl Clocks {
    /// A stamp as `CLOCK_MONOTONIC`, where the snapshots tell; otherwise as it is.
    pub(super) fn monotonic_ns(&self, clock: StampClock, stamp_ns: u64) -> u64 {
        match clock {
            StampClock::Boot => self.boot.monotonic_ns(stamp_ns),
            StampClock::Raw => self.raw.monotonic_ns(stamp_ns),
            StampClock::Monotonic | StampClock::Other => stamp_ns,
        }
    }

    /// Whether stamps of a clock can be put on `CLOCK_MONOTONIC`.
    pub(super) fn knows(&self, clock: StampClock) -> bool {
        match clock {
            StampClock::Boot => !self.boot.0.is_empty(),
            StampClock::Raw => !self.raw.0.is_empty(),
            StampClock::Monotonic => true,
            StampClock::Other => false,
        }
    }

    /// How far clocks are ahead, each with the time from which on.
    pub(super) fn offsets(&self) -> &[(u64, ClockOffsets)] {
        &self.offsets
    }

    /// How often the machine was suspended while the trace was taken.
    pub(super) fn suspensions(&self) -> usize {
        self.boot.0.len().saturating_sub(1)
    }
}

/// A clock against `CLOCK_MONOTONIC`, by points in order.
#[derive(Debug, Default)]
struct Line(Vec<Point>);

#[derive(Clone, Copy, Debug)]
struct Point {
    from_ns: u64,
    monotonic_ns: u64,
    ahead_ns: i64,
}

impl Line {
    /// The point that holds at `stamp_ns`: the last one before, or the first of all.
    fn at(&self, stamp_ns: u64) -> Option<&Point> {
        self.0.get(self.place(stamp_ns))
    }

    fn place(&self, stamp_ns: u64) -> usize {
        self.0.partition_point(|point| point.from_ns <= stamp_ns).saturating_sub(1)
    }

    fn monotonic_ns(&self, stamp_ns: u64) -> u64 {
        let place = self.place(stamp_ns);
        let Some(point) = self.0.get(place) else { return stamp_ns };
        let ns = i128::from(stamp_ns) - i128::from(point.ahead_ns);
        let ns = ns.clamp(0, u64::MAX.into()) as u64;
        // Between waking from suspension and the next snapshot the old difference leads too far: order
        // is kept by not passing what the next snapshot says.
        match self.0.get(place + 1) {
            Some(next) => ns.min(next.monotonic_ns),
            None => ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_perfetto::Clock;

    fn snapshot(shown: &[(u32, u64)]) -> ClockSnapshot {
        let clocks = shown.iter().map(|(clock, ns)| Clock {
            clock_id: Some(*clock),
            timestamp: Some(*ns),
            ..Clock::default()
        });
        ClockSnapshot { clocks: clocks.collect(), ..ClockSnapshot::default() }
    }

    fn clocks(snapshots: &[&[(u32, u64)]]) -> Clocks {
        let mut all = Snapshots::default();
        for shown in snapshots {
            all.take(&snapshot(shown));
        }
        all.into_clocks()
    }

    #[test]
    fn readings_one_after_the_other_are_no_suspension() {
        let clocks = clocks(&[
            &[(clock::BOOTTIME, 5_000_000_000), (clock::MONOTONIC, 5_000_000_300)],
            &[(clock::BOOTTIME, 9_000_000_000), (clock::MONOTONIC, 9_000_000_900)],
        ]);
        assert_eq!(clocks.monotonic_ns(StampClock::Boot, 7_000_000_123), 7_000_000_123);
        assert_eq!(clocks.suspensions(), 0);
    }

    #[test]
    fn a_suspension_moves_boot_time_and_keeps_the_order() {
        let second = 1_000_000_000;
        let clocks = clocks(&[
            &[(clock::BOOTTIME, 15 * second), (clock::MONOTONIC, 10 * second)],
            &[(clock::BOOTTIME, 16 * second), (clock::MONOTONIC, 11 * second + 70)],
            &[(clock::BOOTTIME, 100 * second), (clock::MONOTONIC, 20 * second)],
        ]);
        assert_eq!(clocks.suspensions(), 1);
        let boot = |ns| clocks.monotonic_ns(StampClock::Boot, ns);
        assert_eq!(boot(16 * second), 11 * second, "the largest difference is the nearest");
        assert_eq!(boot(12 * second), 7 * second, "before the first snapshot, too");
        assert_eq!(boot(99 * second), 20 * second, "not beyond what the next one says");
        assert_eq!(boot(101 * second), 21 * second);
        let ahead: Vec<_> =
            clocks.offsets().iter().map(|(at, of)| (*at, of.boottime_ahead_ns)).collect();
        assert_eq!(ahead, [(10 * second, 5 * second as i64), (20 * second, 80 * second as i64)]);
    }

    #[test]
    fn raw_and_real() {
        let clocks = clocks(&[&[
            (clock::MONOTONIC, 1000),
            (clock::MONOTONIC_RAW, 1500),
            (clock::REALTIME, 10_000_000_001_000),
        ]]);
        assert_eq!(clocks.monotonic_ns(StampClock::Raw, 1700), 1200);
        assert_eq!(clocks.monotonic_ns(StampClock::Boot, 1700), 1700);
        assert!(!clocks.knows(StampClock::Boot) && clocks.knows(StampClock::Raw));
        assert_eq!(clocks.offsets()[0].1.realtime_ahead_ns, 10_000_000_000_000);
    }
}
