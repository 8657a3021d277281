//! How often the recorded machine ticks, where nobody knows: a trace does not say it.

use rustc_hash::FxHashMap;

/// The tick, as it is told or found out.
pub(super) struct Tick {
    period_ns: u64,
    is_guess: bool,
    /// For when tick timers were armed the last times, the last one behind: ticks begin whole periods before and after.
    armed_for_ns: [Option<u64>; 2],
    /// The last expiry of each CPU's tick timer, by its address. At most [`TIMERS_MAX`].
    last_raw_ns: FxHashMap<u64, u64>,
    /// The shortest way between two expiries of a tick timer, and how often it was seen.
    shortest: (u64, u32),
    /// A count of ticks, and when it was read.
    first_count: Option<(u64, u64)>,
    /// The period is longer than the one and shorter than the other, by the counts.
    bounds_ns: (u64, u64),
    /// Whether anything was asked by it.
    was_used: bool,
    /// An expiry was placed by a guess.
    was_guessed: bool,
}

/// Tick timers that are followed, one a CPU.
const TIMERS_MAX: usize = 1 << 12;

/// No kernel ticks more slowly than at 10 Hz.
const PERIOD_NS_MAX: u64 = 100_000_000;

/// What `CONFIG_HZ` may be, over all architectures.
const HZ: [u64; 14] = [24, 48, 64, 100, 128, 200, 250, 256, 300, 500, 512, 1000, 1024, 1200];

/// Those that distributions choose.
const USUAL_HZ: [u64; 4] = [100, 250, 300, 1000];

/// The shortest period of those.
const SHORTEST_NS: u64 = 1_000_000;

/// Bounds of a period that nothing is known of.
const ANY: (u64, u64) = (0, u64::MAX);

/// An idle CPU leaves ticks out: the shortest way is one period only when it has come often.
const SHORTEST_SEEN_MIN: u32 = 3;

/// A count over less time is too coarse: a tick more or less would be another `HZ`.
const COUNT_OVER_NS: u64 = 2_000_000_000;

impl Tick {
    pub(super) fn new(period_ns: u64) -> Self {
        Self {
            period_ns: period_ns.clamp(1, PERIOD_NS_MAX),
            is_guess: false,
            armed_for_ns: [None; 2],
            last_raw_ns: FxHashMap::default(),
            shortest: (u64::MAX, 0),
            first_count: None,
            bounds_ns: ANY,
            was_used: false,
            was_guessed: false,
        }
    }

    pub(super) fn set_guess(&mut self) {
        self.is_guess = true;
    }

    /// Somebody knows.
    pub(super) fn set_told(&mut self, period_ns: u64) {
        self.period_ns = period_ns.clamp(1, PERIOD_NS_MAX);
        self.is_guess = false;
    }

    /// How long so many ticks last.
    pub(super) fn ticks_ns(&self, ticks: i64) -> u64 {
        ticks.max(0).unsigned_abs().saturating_mul(self.period_ns)
    }

    /// Whether it is known how often the machine ticks, and when.
    pub(super) fn is_placed(&self) -> bool {
        self.is_found() && self.armed_for_ns[1].is_some()
    }

    fn is_found(&self) -> bool {
        !self.is_guess || self.shortest.1 >= SHORTEST_SEEN_MIN
    }

    /// When a timer should have expired that expires now, so many ticks after the one for which it waited; `None` where that
    /// cannot be. Where in its tick it is now is known by the tick's own timers alone.
    pub(super) fn was_due_ns(&mut self, now_ns: u64, ticks_late: i64) -> Option<u64> {
        if ticks_late < 0 {
            return None;
        }
        self.was_guessed |= !self.is_found();
        let tick_ns = if self.is_placed() { self.begin_ns(now_ns) } else { self.last_ns(now_ns) };
        Some(tick_ns.saturating_sub(self.ticks_ns(ticks_late)))
    }

    /// A CPU's tick timer, at this address, is to expire at `expiry_ns` (`raw_ns` on its own clock).
    pub(super) fn see_armed(&mut self, address: u64, raw_ns: u64, expiry_ns: u64) {
        self.armed_for_ns = [self.armed_for_ns[1], Some(expiry_ns)];
        if !self.is_guess {
            return;
        }
        if self.last_raw_ns.len() == TIMERS_MAX && !self.last_raw_ns.contains_key(&address) {
            return;
        }
        let last_ns = self.last_raw_ns.insert(address, raw_ns);
        let Some(way_ns) = last_ns.and_then(|last_ns| raw_ns.checked_sub(last_ns)) else { return };
        if way_ns == 0 {
            return;
        }
        let (shortest_ns, seen) = self.shortest;
        // Periods are rounded to whole nanoseconds.
        if way_ns.abs_diff(shortest_ns) <= 2 {
            self.shortest.1 += 1;
            if seen + 1 == SHORTEST_SEEN_MIN
                && let Some(period_ns) = kernels_period_ns(way_ns as f64)
            {
                self.period_ns = period_ns;
            }
        } else if way_ns < shortest_ns {
            self.shortest = (way_ns, 1);
        }
    }

    /// The kernel counted so many ticks by now.
    pub(super) fn see_count(&mut self, ticks: u64, time_ns: u64) {
        self.was_used = true;
        if !self.is_guess {
            return;
        }
        let Some((first, first_ns)) = self.first_count else {
            self.first_count = Some((ticks, time_ns));
            return;
        };
        let over_ns = time_ns.saturating_sub(first_ns);
        // It may have wrapped, at either word's size: then from here on.
        let counted = ticks.wrapping_sub(first);
        if counted > u64::from(u32::MAX) {
            (self.first_count, self.bounds_ns) = (Some((ticks, time_ns)), ANY);
            return;
        }
        if !self.is_found() {
            self.narrows(counted, over_ns);
        }
        if over_ns >= COUNT_OVER_NS && counted > 0 {
            if let Some(period_ns) = kernels_period_ns(over_ns as f64 / counted as f64) {
                self.period_ns = period_ns;
                self.shortest.1 = SHORTEST_SEEN_MIN;
                self.is_guess = false;
            }
            self.first_count = Some((ticks, time_ns));
        }
    }

    /// The last tick for which a timer was armed, if no machine ticks so often that there was one since; else now.
    fn last_ns(&self, now_ns: u64) -> u64 {
        let is_it = |ns: &u64| now_ns.checked_sub(*ns).is_some_and(|ago_ns| ago_ns < SHORTEST_NS);
        self.armed_for_ns.into_iter().rev().flatten().find(is_it).unwrap_or(now_ns)
    }

    /// So many ticks more or less one lasted so long: the only usual rate at which they can is taken for it, until it is known.
    fn narrows(&mut self, counted: u64, over_ns: u64) {
        let Some(fewer) = counted.checked_sub(1).filter(|fewer| *fewer > 0) else { return };
        let (least_ns, most_ns) = (over_ns / (counted + 1), over_ns / fewer);
        self.bounds_ns = (self.bounds_ns.0.max(least_ns), self.bounds_ns.1.min(most_ns + 1));
        let (least_ns, most_ns) = self.bounds_ns;
        let periods = USUAL_HZ.map(|hz| 1_000_000_000 / hz);
        let mut fitting = periods.into_iter().filter(|ns| (least_ns..=most_ns).contains(ns));
        match (fitting.next(), fitting.next()) {
            (Some(period_ns), None) => self.period_ns = period_ns,
            // A count that stood still while all CPUs idled.
            (None, _) => self.bounds_ns = ANY,
            _ => {}
        }
    }

    /// When the tick began in which `time_ns` lies.
    pub(super) fn begin_ns(&self, time_ns: u64) -> u64 {
        let period_ns = self.period_ns;
        let phase_ns = self.armed_for_ns[1].unwrap_or(0) % period_ns;
        time_ns.saturating_sub((time_ns % period_ns + period_ns - phase_ns) % period_ns)
    }

    /// A sentence for the reader, where the period is a guess that mattered.
    pub(super) fn note(&self) -> Option<String> {
        let hz = 1_000_000_000 / self.period_ns;
        let follows = "from which the expiries of timer-wheel timers follow";
        if self.was_used && !self.is_found() {
            return Some(format!(
                "the trace does not contain the tick rate of its machine; {hz} Hz is assumed, {follows}"
            ));
        }
        self.was_guessed.then(|| {
            format!(
                "the trace shows the tick rate of its machine ({hz} Hz) only after a while; before \
                 that one is assumed, {follows}"
            )
        })
    }
}

/// The period of the kernel's that is within 1 % of this.
fn kernels_period_ns(about_ns: f64) -> Option<u64> {
    let periods = HZ.map(|hz| 1_000_000_000 / hz);
    let off = |period_ns: u64| (period_ns as f64 / about_ns - 1.0).abs();
    let nearest = periods.into_iter().min_by(|a, b| off(*a).total_cmp(&off(*b)))?;
    (off(nearest) < 0.01).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess() -> Tick {
        let mut tick = Tick::new(4_000_000);
        tick.set_guess();
        tick
    }

    #[test]
    fn tick_timers_tell_the_period() {
        let mut tick = guess();
        tick.see_count(7, 0);
        assert!(tick.note().is_some_and(|note| note.contains("250 Hz")));
        // Idle leaves ticks out, and two CPUs tick at two addresses.
        for (address, ms) in
            [(1, 4), (2, 4), (1, 8), (1, 12), (1, 16), (2, 16), (2, 17), (1, 17), (2, 18), (2, 19)]
        {
            tick.see_armed(address, ms * 1_000_000, ms * 1_000_000 + 70);
        }
        assert_eq!(tick.ticks_ns(1), 1_000_000);
        assert_eq!(tick.begin_ns(5_000_010), 4_000_070);
        assert_eq!(tick.note(), None);
    }

    #[test]
    fn counts_of_ticks_tell_the_period() {
        let mut tick = guess();
        for step in 0..30u64 {
            tick.see_count(u64::from(u32::MAX) - 10 + step * 10, 3_000 + step * 100_000_000);
        }
        assert_eq!(tick.ticks_ns(1), 10_000_000);
        assert_eq!(tick.note(), None);
        assert_eq!(Tick::new(0).ticks_ns(1), 1);
    }

    #[test]
    fn an_expiry_is_placed_by_what_is_known_when_it_comes() {
        let mut tick = guess();
        tick.see_count(100, 0);
        assert_eq!(tick.was_due_ns(500, 0), Some(500), "nobody knows where in its tick that is");
        assert_eq!(tick.was_due_ns(9_000_000, 2), Some(1_000_000));
        // Twenty-one ticks, one more or less, in 210 ms: of the usual rates that is 100 Hz alone.
        tick.see_count(121, 210_000_000);
        assert_eq!(tick.was_due_ns(210_000_010, 1), Some(200_000_010));
        assert!(tick.note().is_some_and(|note| note.contains("100 Hz is assumed")));
        for at in 1..5 {
            tick.see_armed(1, at * 10_000_000, at * 10_000_000 + 70);
        }
        assert_eq!(tick.was_due_ns(215_000_000, 1), Some(200_000_070));
        assert!(tick.note().is_some_and(|note| note.contains("only after a while")));
        assert_eq!(tick.was_due_ns(215_000_000, -1), None);
    }
}
