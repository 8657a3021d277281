//! Where the trace's clock stands among the kernel's.
//!
//! Expiries are in `CLOCK_MONOTONIC` or another of the kernel's clocks, events in the trace's, which
//! may be any: `local`, `boot`, `x86-tsc` made nanoseconds. `hrtimer_expire_entry` carries a reading
//! of the timer's clock, taken at the start of its expiry loop, and a stamp of the trace's clock that
//! is a little later. So *reading − stamp* never exceeds the distance of the two clocks, and the
//! largest that is seen comes as near to it as the quickest way from the reading to the event takes:
//! some tenths of a microsecond on a fast machine, a few microseconds on a slow one.
//!
//! The clocks drift (NTP steers by up to 500 ppm), so the largest alone would be stale. The distance
//! is taken as a straight line over the last seconds, the lowest that no reading lies above: the edge
//! of the upper convex hull over their middle, as skews of network clocks are estimated (Zhang, Liu
//! and Xia, "Clock synchronization algorithms for network measurements", INFOCOM 2002).
//!
//! Lateness that is counted from an expiry placed so is too small by that quickest way. It takes some
//! tenths of a second until the drift is known; who can look ahead tells readings before the first
//! event, the others are off by drift × time there: 15 µs at 50 ppm.

use std::collections::VecDeque;
use tardy_kernel::ClockOffsets;

/// What the times of a trace's events are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceClock {
    /// `CLOCK_MONOTONIC`, as expiries are.
    #[default]
    Monotonic,
    /// Another, in nanoseconds too: where it stands is found out from the events.
    Other,
}

/// Where a clock of the kernel stands.
#[derive(Default)]
pub(super) struct Alignment {
    clock: TraceClock,
    /// As they were told; all zero where nobody knows.
    told: ClockOffsets,
    /// Those found out. At most [`BASES_MAX`]; then the one that was least lately read goes.
    bases: Vec<Base>,
    readings: u64,
    unplaced: u64,
}

/// One of the kernel's clocks, by how far it is ahead of the trace's.
struct Base {
    /// It shows the time of day.
    is_wall: bool,
    read_ns: u64,
    ahead: Envelope,
}

/// Four clocks, and what is left of them when somebody sets the time.
const BASES_MAX: usize = 8;

/// A clock reading farther from what a clock should show is another clock's. No expiry loop takes as
/// long.
const ANOTHER_CLOCK_NS: u64 = 1_000_000_000;

/// A clock that shows more is one of those that show the time of day: no machine has been up for
/// three years without one, and 1973 is past.
const WALL_NS: i64 = 100_000_000_000_000_000;

/// An expiry beyond this is never (`KTIME_MAX`, and sums near it), and no clock's in particular.
const NEVER_NS: i64 = i64::MAX / 2;

/// Of several clocks that an expiry may be in, one that was not read for this long is out.
const LATELY_NS: u64 = 10_000_000_000;

impl Alignment {
    pub(super) fn new(told: ClockOffsets) -> Self {
        Self { told, ..Self::default() }
    }

    pub(super) fn set_told(&mut self, told: ClockOffsets) {
        self.told = told;
    }

    pub(super) fn set_clock(&mut self, clock: TraceClock) {
        self.clock = clock;
    }

    /// How far the clock of a reading is ahead of the trace's, by this reading and those before.
    pub(super) fn of_reading(&mut self, reading_ns: i64, time_ns: u64) -> i64 {
        let ahead_ns = reading_ns.saturating_sub(time_ns as i64);
        if self.clock == TraceClock::Monotonic {
            if ahead_ns.unsigned_abs() < ANOTHER_CLOCK_NS {
                return 0;
            }
            if self.is_told() {
                let ClockOffsets { realtime_ahead_ns, boottime_ahead_ns, tai_ahead_ns } = self.told;
                let told = [boottime_ahead_ns, realtime_ahead_ns, tai_ahead_ns];
                return told.into_iter().min_by_key(|it| it.abs_diff(ahead_ns)).unwrap_or(0);
            }
        }
        self.readings += 1;
        let is_it = |base: &&mut Base| base.ahead.at(time_ns).abs_diff(ahead_ns) < ANOTHER_CLOCK_NS;
        if let Some(base) = self.bases.iter_mut().find(is_it) {
            base.read_ns = base.read_ns.max(time_ns);
            return base.ahead.learn(time_ns, ahead_ns);
        }
        if self.bases.len() == BASES_MAX {
            let oldest = (0..BASES_MAX).min_by_key(|at| self.bases[*at].read_ns);
            self.bases.swap_remove(oldest.unwrap_or(0));
        }
        self.bases.push(Base {
            is_wall: reading_ns >= WALL_NS,
            read_ns: time_ns,
            ahead: Envelope::new(time_ns, ahead_ns),
        });
        ahead_ns
    }

    /// The same for an expiry that somebody asks for at `time_ns`; `None` where it is not known yet.
    /// Of its clock an expiry tells no more than whether that shows the time of day.
    pub(super) fn of_expiry(&mut self, expiry_ns: i64, time_ns: u64) -> Option<i64> {
        if expiry_ns > NEVER_NS {
            return Some(0);
        }
        if self.clock == TraceClock::Monotonic && self.is_told() {
            return Some(self.of_expiry_by_told(expiry_ns, time_ns));
        }
        let is_wall = expiry_ns >= WALL_NS;
        if self.clock == TraceClock::Monotonic && !is_wall {
            return Some(0);
        }
        let of_kind = || self.bases.iter().filter(|base| base.is_wall == is_wall);
        let latest_ns = of_kind().map(|base| base.read_ns).max()?;
        // The monotonic clock is behind that of boot, and that of the day behind atomic time.
        let ahead_ns = of_kind()
            .filter(|base| base.read_ns.saturating_add(LATELY_NS) > latest_ns)
            .map(|base| base.ahead.at(time_ns))
            .min();
        self.unplaced += u64::from(ahead_ns.is_none());
        ahead_ns
    }

    /// By which clock it is nearer to at `time_ns`.
    fn of_expiry_by_told(&self, expiry_ns: i64, time_ns: u64) -> i64 {
        let from_now_ns = expiry_ns.saturating_sub(time_ns as i64);
        let far = self.told.realtime_ahead_ns / 2;
        let is_realtime = self.told.realtime_ahead_ns > ANOTHER_CLOCK_NS as i64
            && from_now_ns > far
            && from_now_ns < far.saturating_mul(3);
        if is_realtime { self.told.realtime_ahead_ns } else { 0 }
    }

    fn is_told(&self) -> bool {
        self.told != ClockOffsets::default()
    }

    /// A sentence for the reader, where expiries had to be moved.
    pub(super) fn note(&self) -> Option<String> {
        if self.clock == TraceClock::Monotonic {
            return None;
        }
        Some(if self.readings == 0 {
            "the trace's clock is not the one of timers, and no hrtimer_expire_entry tells how far \
             apart they are: expiries are not known (record with the clock `mono`)"
                .to_owned()
        } else {
            format!(
                "the trace's clock is not the one of timers; expiries were moved to it by the \
                 kernel's own clock readings at {} expiries. Lateness may be too small by what the \
                 kernel needs from such a reading to its event, about 1 us (some us on slow \
                 machines)",
                self.readings
            )
        })
    }
}

/// A distance between two clocks that is never below what is seen of it.
struct Envelope {
    line: Line,
    /// The tightest of each stretch of [`BLOCK_NS`], the last [`WINDOW_NS`] of them.
    blocks: VecDeque<(u64, i64)>,
    /// The tightest of the present stretch.
    tightest: (u64, i64),
    block_ends_ns: u64,
    /// What comes up to here has been learned already.
    learned_ns: u64,
}

#[derive(Clone, Copy)]
struct Line {
    at_ns: u64,
    ahead_ns: i64,
    slope: f64,
}

const BLOCK_NS: u64 = 100_000_000;
const WINDOW_NS: u64 = 3_200_000_000;

/// Fewer stretches tell no slope.
const BLOCKS_MIN: usize = 3;

/// NTP slews by 500 ppm at most; the rest is for poor oscillators.
const SLOPE_MAX: f64 = 0.001;

/// A reading that is farther above the line than clocks drift or loops take: somebody set the time.
const STEP_NS: i64 = 100_000;

impl Line {
    fn at(&self, time_ns: u64) -> i64 {
        self.ahead_ns.saturating_add(self.moved(time_ns))
    }

    fn moved(&self, time_ns: u64) -> i64 {
        (time_ns.wrapping_sub(self.at_ns) as i64 as f64 * self.slope) as i64
    }
}

impl Envelope {
    fn new(time_ns: u64, ahead_ns: i64) -> Self {
        Self {
            line: Line { at_ns: time_ns, ahead_ns, slope: 0.0 },
            blocks: VecDeque::new(),
            tightest: (time_ns, ahead_ns),
            block_ends_ns: time_ns.saturating_add(BLOCK_NS),
            learned_ns: time_ns,
        }
    }

    fn at(&self, time_ns: u64) -> i64 {
        self.line.at(time_ns)
    }

    fn learn(&mut self, time_ns: u64, ahead_ns: i64) -> i64 {
        if time_ns <= self.learned_ns {
            return self.at(time_ns);
        }
        self.learned_ns = time_ns;
        if time_ns >= self.block_ends_ns {
            self.blocks.push_back(self.tightest);
            let oldest_ns = time_ns.saturating_sub(WINDOW_NS);
            while self.blocks.front().is_some_and(|(at_ns, _)| *at_ns < oldest_ns) {
                self.blocks.pop_front();
            }
            if self.blocks.is_empty() {
                // Nothing for seconds: where the line would be by now is a guess.
                *self = Self::new(time_ns, ahead_ns);
                return ahead_ns;
            }
            self.fit();
            self.tightest = (time_ns, ahead_ns);
            self.block_ends_ns = time_ns.saturating_add(BLOCK_NS);
        }
        let above_ns = ahead_ns.saturating_sub(self.at(time_ns));
        if above_ns > STEP_NS {
            *self = Self::new(time_ns, ahead_ns);
            return ahead_ns;
        }
        if above_ns > 0 {
            self.line.ahead_ns += above_ns;
        }
        let flat = |(at_ns, ahead_ns): (u64, i64)| ahead_ns.saturating_sub(self.line.moved(at_ns));
        if flat((time_ns, ahead_ns)) > flat(self.tightest) {
            self.tightest = (time_ns, ahead_ns);
        }
        self.at(time_ns)
    }

    /// The lowest line over all blocks: through the edge of their upper hull that lies over their
    /// middle.
    fn fit(&mut self) {
        let Some(&(zero_ns, base_ns)) = self.blocks.front() else { return };
        let point = |&(at_ns, ahead_ns): &(u64, i64)| {
            (at_ns.wrapping_sub(zero_ns) as f64, ahead_ns.wrapping_sub(base_ns) as f64)
        };
        let points: Vec<(f64, f64)> = self.blocks.iter().map(point).collect();
        if points.len() >= BLOCKS_MIN {
            let middle = points.iter().map(|(x, _)| x).sum::<f64>() / points.len() as f64;
            let hull = upper_hull(&points);
            let edge = hull.windows(2).find(|edge| edge[1].0 >= middle);
            let slope = edge.map_or(0.0, |edge| (edge[1].1 - edge[0].1) / (edge[1].0 - edge[0].0));
            self.line.slope = slope.clamp(-SLOPE_MAX, SLOPE_MAX);
        }
        let height = |(x, y): &(f64, f64)| y - x * self.line.slope;
        let highest = points.iter().map(height).fold(f64::NEG_INFINITY, f64::max);
        self.line.at_ns = zero_ns;
        self.line.ahead_ns = base_ns.saturating_add(highest.ceil() as i64);
    }
}

/// The corners of the upper convex hull of points that come from left to right.
fn upper_hull(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for &(x, y) in points {
        while let [.., (x0, y0), (x1, y1)] = hull[..]
            && (x1 - x0) * (y - y0) >= (y1 - y0) * (x - x0)
        {
            hull.pop();
        }
        // Two at one place: the higher one.
        match hull.last_mut() {
            Some(last) if last.0 >= x => last.1 = last.1.max(y),
            _ => hull.push((x, y)),
        }
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FAR_NS: i64 = -987_654_321_000;

    /// Readings every 4 ms over 20 s, each with a delay of 300 ns to 20 µs: how far the line is off
    /// what it should be, at worst in the first half second and at worst after it.
    fn worst(drift: f64) -> (i64, i64) {
        let mut alignment = Alignment::new(ClockOffsets::default());
        alignment.set_clock(TraceClock::Other);
        let (mut early, mut later) = (0, 0);
        for step in 0..5000u64 {
            let time_ns = 5_000_000_000 + step * 4_000_000;
            let ahead_ns = FAR_NS + (time_ns as f64 * drift) as i64;
            // One in seven is quick.
            let delay_ns = if step % 7 == 0 { 300 } else { 2000 + (step * 7919 % 18_000) as i64 };
            let found = alignment.of_reading(time_ns as i64 + ahead_ns - delay_ns, time_ns);
            let off = (found - ahead_ns).abs();
            if step < 125 { early = off.max(early) } else { later = off.max(later) }
        }
        (early, later)
    }

    #[test]
    fn the_distance_is_found_whatever_the_drift() {
        for (drift, early_ns, later_ns) in [
            (0.0, 301, 301),
            (20e-6, 8000, 1000),
            (-20e-6, 8000, 1000),
            (500e-6, 15_000, 1500),
            (-500e-6, 160_000, 1500),
        ] {
            let (early, later) = worst(drift);
            assert!(early <= early_ns && later <= later_ns, "{drift}: {early} {later}");
        }
    }

    #[test]
    fn clocks_of_the_day_are_found_too_and_setting_the_time_is_seen() {
        let mut alignment = Alignment::new(ClockOffsets::default());
        let wall = 1_700_000_000_000_000_000;
        assert_eq!(alignment.of_expiry(wall + 5, 1), None, "nothing has been read yet");
        assert_eq!(alignment.of_expiry(5, 1), Some(0));
        assert_eq!(alignment.of_reading(wall + 900, 1000), wall - 100);
        assert_eq!(alignment.of_expiry(wall + 5000, 2000), Some(wall - 100));
        assert_eq!(alignment.of_reading(wall + 37_000_003_000, 3000), wall + 37_000_000_000);
        assert_eq!(alignment.of_expiry(wall + 5000, 3000), Some(wall - 100), "not atomic time");
        // Half a second later than it was.
        assert_eq!(alignment.of_reading(wall + 500_004_000, 4000), wall + 500_000_000);
        assert_eq!(alignment.of_expiry(i64::MAX, 4000), Some(0));
        assert_eq!(alignment.note(), None);
    }

    proptest! {
        #[test]
        fn any_readings(
            readings in prop::collection::vec((any::<u64>(), any::<i64>()), 0..200),
            near in prop::collection::vec((0u64..1 << 33, 0i64..1 << 33), 0..200),
            other: bool,
        ) {
            let mut alignment = Alignment::new(ClockOffsets::default());
            alignment.set_clock(if other { TraceClock::Other } else { TraceClock::Monotonic });
            for (time_ns, reading_ns) in readings.into_iter().chain(near) {
                alignment.of_expiry(reading_ns, time_ns);
                alignment.of_reading(reading_ns, time_ns);
                prop_assert!(alignment.bases.len() <= BASES_MAX);
                prop_assert!(alignment.bases.iter().all(|base| base.ahead.blocks.len() <= 40));
            }
        }
    }
}
