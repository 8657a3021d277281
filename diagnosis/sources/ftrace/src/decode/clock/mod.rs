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
//! and Xia, "Clock synchronization algorithms for network measurements", INFOCOM 2002). The kernel's
//! own clocks run at one rate: where the trace's is `CLOCK_MONOTONIC`, the line is flat.
//!
//! Lateness that is counted from an expiry placed so is too small by that quickest way. It takes some
//! tenths of a second until the drift is known; who can look ahead tells readings before the first
//! event, the others are off by drift × time there: 15 µs at 50 ppm.
//!
//! No event tells that somebody sets `CLOCK_REALTIME`. A reading above the line shows that it was set
//! forward; one that would have been taken before its interrupt began, or several alike far below the
//! line, that it was set back. Then the line begins anew, [`ClockSet`] says so, and what was armed before
//! counts from the setting on: no timer is late for a time to which the clock jumped.
//!
//! A clock that is 37 s from one of the day is mostly atomic time. But that is also how far a clock is set
//! that was on the wrong one of the two: then timers that wait meanwhile show it (see [`Asked`]). If none does,
//! it counts as another clock, and what is armed before its first expiry is placed 37 s off until then.

mod entered;
mod envelope;

pub(super) use entered::Entered;

use envelope::{Envelope, Most, Seen, Step};
use tardy_kernel::ClockOffsets;
use tardy_model::event::ClockSet;

/// What the times of a trace's events are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceClock {
    /// `CLOCK_MONOTONIC`, as expiries are.
    #[default]
    Monotonic,
    /// Another, in nanoseconds too: where it stands is found out from the events.
    Other,
}

/// The kernel's reading of a clock, as an event carries it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) reading_ns: i64,
    /// The event's time.
    pub(super) time_ns: u64,
    /// When the CPU entered the interrupt that it is in, where that is known.
    pub(super) entered_ns: Option<u64>,
    /// Where it is not, a time at which it had not entered that yet.
    pub(super) not_before_ns: Option<u64>,
    /// What was asked of the timer, where it is known.
    pub(super) asked: Option<Asked>,
}

/// What was asked of a timer that expires.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// The expiry, on the timer's clock.
    pub(super) raw_ns: i64,
    /// Where that was placed in the trace when the timer was armed.
    pub(super) placed_ns: u64,
    pub(super) armed_ns: u64,
}

impl Reading {
    /// One of which nothing else is known.
    fn alone(reading_ns: i64, time_ns: u64) -> Self {
        Self { reading_ns, time_ns, entered_ns: None, not_before_ns: None, asked: None }
    }

    /// What the distance of the clocks can be at most.
    fn most(&self) -> Option<Most> {
        let most = |since_ns: u64| self.reading_ns.saturating_sub(since_ns as i64);
        let close = self.entered_ns.map(|entered_ns| Most { ns: most(entered_ns), is_close: true });
        close.or_else(|| {
            let ns = most(self.not_before_ns?);
            Some(Most { ns, is_close: false })
        })
    }

    /// By when its clock was set by so much. Forward, that makes timers fire at once; back, they fire when they are
    /// due by the clock as it is then.
    fn set_by(&self, by_ns: i64) -> u64 {
        let before_ns = self.not_before_ns.filter(|_| by_ns < 0);
        self.entered_ns.or(before_ns).unwrap_or(self.time_ns)
    }

    /// How far the timer's clock was ahead when the timer was armed, where that clock has been set since then: it
    /// was armed for a time to come, and by the distance of then or by that of now that time is long over. Who asks
    /// one clock for the time of another has it too, but at once.
    fn set_from(&self) -> Option<i64> {
        let Asked { raw_ns, placed_ns, armed_ns } = self.asked?;
        let then_ns = raw_ns.saturating_sub(placed_ns as i64);
        let now_ns = self.reading_ns.saturating_sub(self.time_ns as i64);
        let by_now_ns = raw_ns.saturating_sub(now_ns).max(0) as u64;
        let is_over = placed_ns.min(by_now_ns).saturating_add(ANOTHER_CLOCK_NS) < self.time_ns;
        let waited = self.time_ns.saturating_sub(armed_ns) > ABOUT_NS;
        let is_set = then_ns.abs_diff(now_ns) >= ANOTHER_CLOCK_NS;
        (is_set && is_over && waited && placed_ns > armed_ns).then_some(then_ns)
    }
}

/// Where a clock of the kernel stands.
#[derive(Default)]
pub(super) struct Alignment {
    clock: TraceClock,
    /// As they were told, and set since; all zero where nobody knows.
    told: ClockOffsets,
    /// Told later, and otherwise: somebody set the time, perhaps after the events that are being read.
    coming: Option<(ClockOffsets, u64)>,
    /// Those found out. At most [`BASES_MAX`]; then the one that was least lately read goes.
    bases: Vec<Base>,
    readings: u64,
    unplaced: u64,
    /// The last event that asked.
    now_ns: u64,
    /// When what was told of the time of day was last seen to hold.
    told_held_ns: u64,
    /// By when the time of day was set last.
    set_ns: u64,
    /// What has not been said yet.
    unsaid: Option<ClockSet>,
}

/// One of the kernel's clocks, by how far it is ahead of the trace's.
#[derive(Clone)]
struct Base {
    /// It shows the time of day.
    is_wall: bool,
    read_ns: u64,
    ahead: Envelope,
}

/// Four clocks, and what is left of them when somebody sets the time.
const BASES_MAX: usize = 8;

/// A clock reading farther from what a clock should show is another clock's, or the clock was set. No
/// expiry loop takes as long.
const ANOTHER_CLOCK_NS: u64 = 1_000_000_000;

/// A clock that shows more is one of those that show the time of day: no machine has been up for
/// three years without one, and 1973 is past.
const WALL_NS: i64 = 100_000_000_000_000_000;

/// `CLOCK_TAI` is ahead of `CLOCK_REALTIME` by this, where somebody told the kernel (since 2017).
const LEAP_NS: u64 = 37_000_000_000;

/// As exactly as readings tell a distance.
const ABOUT_NS: u64 = 1_000_000;

/// What was told of clocks may be stale by drift, and off by what passes between two readings.
const TOLD_STEP_NS: i64 = 1_000_000;

/// What was told later counts when no event contradicts it for this long.
const COMING_NS: u64 = 200_000_000;

/// An expiry beyond this is never (`KTIME_MAX`, and sums near it), and no clock's in particular.
const NEVER_NS: i64 = i64::MAX / 2;

/// Of several clocks that an expiry may be in, one that was not read for this long is out.
const LATELY_NS: u64 = 10_000_000_000;

impl Alignment {
    pub(super) fn new(told: ClockOffsets) -> Self {
        Self { told, ..Self::default() }
    }

    /// The clocks are known to be so far ahead at or after the last event.
    pub(super) fn set_told(&mut self, told: ClockOffsets) {
        let by_ns = told.realtime_ahead_ns.saturating_sub(self.told.realtime_ahead_ns);
        let is_first = !self.knows_wall() || self.now_ns == 0;
        if is_first || by_ns.saturating_abs() <= TOLD_STEP_NS {
            self.told = told;
            self.coming = None;
            return;
        }
        match self.coming {
            Some((_, since_ns)) if self.now_ns.saturating_sub(since_ns) > COMING_NS => {
                self.adopt(told, self.now_ns);
            }
            Some((_, since_ns)) => self.coming = Some((told, since_ns)),
            None => self.coming = Some((told, self.now_ns)),
        }
    }

    /// The time of day is as told from here on.
    fn adopt(&mut self, told: ClockOffsets, set_ns: u64) {
        let by_ns = told.realtime_ahead_ns.saturating_sub(self.told.realtime_ahead_ns);
        self.set(Step { by_ns, since_ns: self.told_held_ns }, set_ns);
        self.told = told;
        self.coming = None;
    }

    pub(super) fn set_clock(&mut self, clock: TraceClock) {
        self.clock = clock;
    }

    /// That the time of day was set, to be said once.
    pub(super) fn take_setting(&mut self) -> Option<ClockSet> {
        self.unsaid.take()
    }

    fn set(&mut self, step: Step, set_ns: u64) {
        let Step { by_ns, since_ns } = step;
        self.set_ns = set_ns.max(since_ns);
        // Twice before it could be said: once, by both.
        let before = self.unsaid.unwrap_or(ClockSet { by_ns: 0, since_ns });
        let by_ns = before.by_ns.saturating_add(by_ns);
        self.unsaid = Some(ClockSet { by_ns, since_ns: before.since_ns });
    }

    /// How far the clock of a reading is ahead of the trace's, by this reading and those before.
    pub(super) fn of_reading(&mut self, reading: Reading) -> i64 {
        let Reading { reading_ns, time_ns, .. } = reading;
        self.now_ns = self.now_ns.max(time_ns);
        let ahead_ns = reading_ns.saturating_sub(time_ns as i64);
        let is_wall = reading_ns >= WALL_NS;
        if self.clock == TraceClock::Monotonic {
            if ahead_ns.unsigned_abs() < ANOTHER_CLOCK_NS {
                return 0;
            }
            if self.is_told() && (self.knows_wall() || !is_wall) {
                return if is_wall {
                    self.of_wall_by_told(reading, ahead_ns)
                } else {
                    self.told.boottime_ahead_ns
                };
            }
        }
        self.readings += 1;
        let seen = Seen { time_ns, ahead_ns, most: reading.most() };
        let set_from_ns = reading.set_from().filter(|_| is_wall);
        let near = self.bases.iter().position(|base| base.is_near(seen));
        if let Some(at) = near.filter(|_| set_from_ns.is_none()) {
            let base = &mut self.bases[at];
            base.read_ns = base.read_ns.max(time_ns);
            if let Some(step) = base.ahead.learn(seen).filter(|_| is_wall) {
                self.shift_wall(Some(at), time_ns, step.by_ns);
                self.set(step, reading.set_by(step.by_ns));
            }
            return self.bases[at].ahead.at(time_ns);
        }
        if is_wall && let Some(step) = self.step_of_wall(seen, set_from_ns) {
            self.shift_wall(None, time_ns, step.by_ns);
            self.set(step, reading.set_by(step.by_ns));
            if let Some(base) = self.bases.iter_mut().find(|base| base.is_near(seen)) {
                base.read_ns = time_ns;
            }
            return ahead_ns;
        }
        if self.bases.len() == BASES_MAX {
            let oldest = (0..BASES_MAX).min_by_key(|at| self.bases[*at].read_ns);
            self.bases.swap_remove(oldest.unwrap_or(0));
        }
        let is_flat = self.clock == TraceClock::Monotonic;
        let ahead = Envelope::new(time_ns, ahead_ns, is_flat);
        self.bases.push(Base { is_wall, read_ns: time_ns, ahead });
        ahead_ns
    }

    /// The clocks of the day are set together; one of them may show it itself.
    fn shift_wall(&mut self, but: Option<usize>, time_ns: u64, by_ns: i64) {
        for (at, base) in self.bases.iter_mut().enumerate() {
            if base.is_wall && Some(at) != but {
                base.ahead.shift(time_ns, by_ns);
            }
        }
    }

    /// A clock of the day that is near none that is known: another (atomic time), or one that was set.
    /// `set_from_ns` is how far the one of the two was ahead that is known to have been set.
    fn step_of_wall(&self, seen: Seen, set_from_ns: Option<i64>) -> Option<Step> {
        let Seen { time_ns, ahead_ns, .. } = seen;
        let wall = || self.bases.iter().filter(|base| base.is_wall);
        let off_ns = |base: &Base| ahead_ns.saturating_sub(base.ahead.at(time_ns));
        let is_atomic = |base| off_ns(base).unsigned_abs().abs_diff(LEAP_NS) < ABOUT_NS;
        if set_from_ns.is_none() && wall().any(is_atomic) {
            return None;
        }
        let was_ns = set_from_ns.unwrap_or(ahead_ns);
        let nearest = wall().min_by_key(|base| base.ahead.at(time_ns).abs_diff(was_ns))?;
        Some(Step { by_ns: off_ns(nearest), since_ns: nearest.ahead.agreed_ns().min(time_ns) })
    }

    fn of_wall_by_told(&mut self, reading: Reading, ahead_ns: i64) -> i64 {
        let Reading { time_ns, entered_ns, .. } = reading;
        if let Some((coming, _)) = self.coming {
            let is_nearer = nearest_wall(coming, ahead_ns).abs_diff(ahead_ns)
                < nearest_wall(self.told, ahead_ns).abs_diff(ahead_ns);
            if is_nearer {
                self.adopt(coming, entered_ns.unwrap_or(time_ns));
            }
        }
        let told_ns = nearest_wall(self.told, reading.set_from().unwrap_or(ahead_ns));
        let above_ns = ahead_ns.saturating_sub(told_ns);
        let is_too_far = above_ns.unsigned_abs() >= ANOTHER_CLOCK_NS;
        let is_below =
            reading.most().is_some_and(|most| told_ns.saturating_sub(most.ns) > TOLD_STEP_NS);
        if is_too_far || above_ns > TOLD_STEP_NS || is_below {
            let step = Step { by_ns: above_ns, since_ns: self.told_held_ns };
            self.set(step, reading.set_by(above_ns));
            let told = &mut self.told;
            told.realtime_ahead_ns = told.realtime_ahead_ns.saturating_add(above_ns);
            told.tai_ahead_ns = told.tai_ahead_ns.saturating_add(above_ns);
        }
        self.told_held_ns = time_ns;
        nearest_wall(self.told, ahead_ns)
    }

    /// The same for an expiry that somebody asks for at `time_ns`; `None` where it is not known yet.
    /// Of its clock an expiry tells no more than whether that shows the time of day.
    pub(super) fn of_expiry(&mut self, expiry_ns: i64, time_ns: u64) -> Option<i64> {
        self.now_ns = self.now_ns.max(time_ns);
        if expiry_ns > NEVER_NS {
            return Some(0);
        }
        let is_wall = expiry_ns >= WALL_NS;
        if self.clock == TraceClock::Monotonic && self.is_told() {
            return Some(self.of_expiry_by_told(expiry_ns, time_ns));
        }
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

    /// Where an expiry lies that was placed at `soft_ns` and asked for at `armed_ns`: if its clock was set
    /// since then, not before that; if it may have been set, not before it was asked for.
    pub(super) fn not_before(&self, raw_ns: i64, soft_ns: u64, armed_ns: u64) -> u64 {
        if raw_ns < WALL_NS {
            return soft_ns;
        }
        if armed_ns < self.set_ns {
            return soft_ns.max(self.set_ns);
        }
        if self.is_doubtful() { soft_ns.max(armed_ns) } else { soft_ns }
    }

    /// Whether the time of day may have been set since it was last read.
    fn is_doubtful(&self) -> bool {
        let is_doubtful = |base: &Base| base.is_wall && base.ahead.is_doubtful();
        self.coming.is_some() || self.bases.iter().any(is_doubtful)
    }

    fn is_told(&self) -> bool {
        self.told != ClockOffsets::default()
    }

    fn knows_wall(&self) -> bool {
        self.told.realtime_ahead_ns > ANOTHER_CLOCK_NS as i64
    }

    /// Learns from readings that lie ahead, up to the first that shows a clock being set.
    pub(super) fn look_ahead(&mut self, readings: &[(u64, i64)]) {
        // What was known before readings that may show a clock being set back.
        let mut certain: Option<Vec<Base>> = None;
        for &(time_ns, reading_ns) in readings {
            let ahead_ns = reading_ns.saturating_sub(time_ns as i64);
            let seen = Seen { time_ns, ahead_ns, most: None };
            let near = self.bases.iter().find(|base| base.is_near(seen));
            let is_set = match near {
                Some(base) => base.ahead.is_step_up(time_ns, ahead_ns),
                None => reading_ns >= WALL_NS && self.step_of_wall(seen, None).is_some(),
            };
            if is_set {
                break;
            }
            let before = certain.is_none().then(|| self.bases.clone());
            self.of_reading(Reading::alone(reading_ns, time_ns));
            if self.unsaid.is_some() {
                self.bases = certain.take().unwrap_or_default();
                break;
            }
            certain = if self.is_doubtful() { certain.or(before) } else { None };
        }
        // What they show besides is told when their events come.
        self.bases.iter_mut().for_each(|base| base.ahead.rewind());
        (self.now_ns, self.set_ns, self.readings, self.unsaid) = (0, 0, 0, None);
    }

    /// A sentence for the reader, where expiries had to be moved.
    pub(super) fn note(&self) -> Option<String> {
        if self.clock == TraceClock::Monotonic {
            return None;
        }
        Some(if self.readings == 0 {
            "the trace does not use the clock of timers, and has no hrtimer_expire_entry to show \
             the offset: expiries are not known (record with the clock `mono`)"
                .to_owned()
        } else {
            format!(
                "the trace does not use the clock of timers; expiries were converted with the \
                 kernel's own clock readings at {} expiries. Lateness may be too small by the time \
                 from such a reading to its event, about 1 us (some us on slow machines)",
                self.readings
            )
        })
    }
}

impl Base {
    fn is_near(&self, seen: Seen) -> bool {
        self.ahead.at(seen.time_ns).abs_diff(seen.ahead_ns) < ANOTHER_CLOCK_NS
    }
}

/// Of what was told, the clock of the day that is nearest.
fn nearest_wall(told: ClockOffsets, ahead_ns: i64) -> i64 {
    let ClockOffsets { realtime_ahead_ns, tai_ahead_ns, .. } = told;
    let is_tai = tai_ahead_ns.abs_diff(ahead_ns) < ABOUT_NS * 100;
    if is_tai && realtime_ahead_ns.abs_diff(ahead_ns) > tai_ahead_ns.abs_diff(ahead_ns) {
        tai_ahead_ns
    } else {
        realtime_ahead_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FAR_NS: i64 = -987_654_321_000;

    fn read(alignment: &mut Alignment, reading_ns: i64, time_ns: u64) -> i64 {
        alignment.of_reading(Reading::alone(reading_ns, time_ns))
    }

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
            let found = read(&mut alignment, time_ns as i64 + ahead_ns - delay_ns, time_ns);
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
        assert_eq!(read(&mut alignment, wall + 900, 1000), wall - 100);
        assert_eq!(alignment.of_expiry(wall + 5000, 2000), Some(wall - 100));
        assert_eq!(read(&mut alignment, wall + 37_000_003_000, 3000), wall + 37_000_000_000);
        assert_eq!(alignment.of_expiry(wall + 5000, 3000), Some(wall - 100), "not atomic time");
        // Half a second later than it was.
        assert_eq!(read(&mut alignment, wall + 500_004_000, 4000), wall + 500_000_000);
        let setting = alignment.take_setting().unwrap();
        assert_eq!((setting.by_ns, setting.since_ns), (500_000_100, 1000));
        assert_eq!(alignment.take_setting(), None);
        assert_eq!(alignment.of_expiry(i64::MAX, 4000), Some(0));
        assert_eq!(alignment.note(), None);
    }

    const WALL: i64 = 1_700_000_000_000_000_000;

    fn told(realtime_ahead_ns: i64) -> ClockOffsets {
        let tai_ahead_ns = realtime_ahead_ns + LEAP_NS as i64;
        ClockOffsets { realtime_ahead_ns, boottime_ahead_ns: 0, tai_ahead_ns }
    }

    #[test]
    fn nothing_is_late_for_a_time_to_which_the_clock_jumped() {
        // Found out, and told beforehand.
        for mut alignment in [Alignment::default(), Alignment::new(told(WALL))] {
            assert_eq!(
                read(&mut alignment, WALL + 999_999_900, 1_000_000_000),
                WALL - if alignment.is_told() { 0 } else { 100 }
            );
            // Set forward by 30 s, as an expiry shows in an interrupt since 2.0 s.
            let by_ns = 30_000_000_000;
            let reading_ns = WALL + by_ns + 2_000_000_500;
            let entered_ns = Some(2_000_000_000);
            let time_ns = 2_000_000_700;
            let ahead_ns =
                alignment.of_reading(Reading { entered_ns, ..Reading::alone(reading_ns, time_ns) });
            assert!(ahead_ns.abs_diff(WALL + by_ns) <= 300, "{ahead_ns}");
            let setting = alignment.take_setting().unwrap();
            assert!(setting.by_ns.abs_diff(by_ns) <= 300, "{setting:?}");
            assert_eq!(setting.since_ns, 1_000_000_000);
            let raw_ns = WALL + 9_000_000_000;
            assert_eq!(alignment.not_before(raw_ns, 0, 1_500_000_000), 2_000_000_000);
            assert_eq!(alignment.not_before(raw_ns, 7, 2_500_000_000), 7, "asked for after it");
            assert_eq!(alignment.not_before(5, 7, 1_500_000_000), 7, "not of that clock");
        }
    }

    #[test]
    fn a_timer_that_waits_tells_a_setting_from_atomic_time() {
        let step_ns = LEAP_NS as i64;
        for by_ns in [step_ns, -step_ns] {
            for mut alignment in [Alignment::default(), Alignment::new(told(WALL))] {
                read(&mut alignment, WALL + 1_000_000_000, 1_000_000_000);
                // Armed for 1.04 s, and either due at once by the clock as it is now, or 37 s later by it.
                let (raw_ns, armed_ns) = (WALL + 1_040_000_000, 1_030_000_000);
                let placed_ns = (raw_ns - alignment.of_expiry(raw_ns, armed_ns).unwrap()) as u64;
                let time_ns = if by_ns > 0 { 1_035_000_000 } else { 38_040_000_000 };
                let reading_ns = WALL + by_ns + time_ns as i64;
                let asked = Some(Asked { raw_ns, placed_ns, armed_ns });
                let reading = Reading { asked, ..Reading::alone(reading_ns, time_ns) };
                assert_eq!(alignment.of_reading(reading), WALL + by_ns, "{by_ns}");
                assert_eq!(alignment.take_setting().map(|set| set.by_ns), Some(by_ns));
            }
        }
    }

    #[test]
    fn what_is_told_of_a_later_time_counts_when_an_event_shows_it() {
        let mut alignment = Alignment::new(told(WALL));
        assert_eq!(read(&mut alignment, WALL + 1_000_000_000, 1_000_000_000), WALL);
        let back_ns = WALL - 3_000_000;
        alignment.set_told(told(back_ns));
        assert_eq!(alignment.of_expiry(WALL + 2_000_000_000, 1_100_000_000), Some(WALL));
        assert_eq!(read(&mut alignment, WALL + 1_200_000_000, 1_200_000_000), WALL);
        assert_eq!(alignment.not_before(WALL + 1, 1, 1_190_000_000), 1_190_000_000, "doubtful");
        assert_eq!(read(&mut alignment, back_ns + 1_300_000_000, 1_300_000_000), back_ns);
        let setting = alignment.take_setting();
        assert_eq!(setting, Some(ClockSet { by_ns: -3_000_000, since_ns: 1_200_000_000 }));
        alignment.set_told(told(back_ns));
        assert_eq!(alignment.take_setting(), None, "it is known");
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
                read(&mut alignment, reading_ns, time_ns);
                alignment.not_before(reading_ns, time_ns, time_ns / 2);
                prop_assert!(alignment.bases.len() <= BASES_MAX);
                prop_assert!(alignment.bases.iter().all(|base| base.ahead.blocks.len() <= 40));
            }
        }
    }
}
