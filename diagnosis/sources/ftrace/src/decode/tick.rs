//! How often the recorded machine ticks, where nobody knows: a trace does not say it.

use rustc_hash::FxHashMap;

/// The tick, as it is told or found out.
pub(super) struct Tick {
    period_ns: u64,
    is_guess: bool,
    /// When ticks begin, past a whole multiple of the period.
    phase_ns: u64,
    /// The last expiry of each CPU's tick timer, by its address. At most [`TIMERS_MAX`].
    last_ns: FxHashMap<u64, u64>,
    /// The shortest way between two expiries of a tick timer, and how often it was seen.
    shortest: (u64, u32),
    /// A count of ticks, and when it was read.
    first_count: Option<(u64, u64)>,
    /// Whether anything was asked by it.
    was_used: bool,
}

/// Tick timers that are followed, one a CPU.
const TIMERS_MAX: usize = 1 << 12;

/// No kernel ticks more slowly than at 10 Hz.
const PERIOD_NS_MAX: u64 = 100_000_000;

/// What `CONFIG_HZ` may be, over all architectures.
const HZ: [u64; 14] = [24, 48, 64, 100, 128, 200, 250, 256, 300, 500, 512, 1000, 1024, 1200];

/// An idle CPU leaves ticks out: the shortest way is one period only when it has come often.
const SHORTEST_SEEN_MIN: u32 = 3;

/// A count over less time is too coarse: a tick more or less would be another `HZ`.
const COUNT_OVER_NS: u64 = 2_000_000_000;

impl Tick {
    pub(super) fn new(period_ns: u64) -> Self {
        Self {
            period_ns: period_ns.clamp(1, PERIOD_NS_MAX),
            is_guess: false,
            phase_ns: 0,
            last_ns: FxHashMap::default(),
            shortest: (u64::MAX, 0),
            first_count: None,
            was_used: false,
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

    pub(super) fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// A CPU's tick timer, at this address, is to expire at `expiry_ns` (`raw_ns` on its own clock).
    pub(super) fn see_armed(&mut self, address: u64, raw_ns: u64, expiry_ns: u64) {
        self.phase_ns = expiry_ns % self.period_ns;
        if !self.is_guess {
            return;
        }
        if self.last_ns.len() == TIMERS_MAX && !self.last_ns.contains_key(&address) {
            return;
        }
        let last_ns = self.last_ns.insert(address, raw_ns);
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
                self.phase_ns = expiry_ns % period_ns;
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
            self.first_count = Some((ticks, time_ns));
        } else if over_ns >= COUNT_OVER_NS && counted > 0 {
            if let Some(period_ns) = kernels_period_ns(over_ns as f64 / counted as f64) {
                self.period_ns = period_ns;
                self.shortest.1 = SHORTEST_SEEN_MIN;
                self.is_guess = false;
            }
            self.first_count = Some((ticks, time_ns));
        }
    }

    /// When the tick began in which `time_ns` lies.
    pub(super) fn begin_ns(&self, time_ns: u64) -> u64 {
        let period_ns = self.period_ns;
        let phase_ns = self.phase_ns % period_ns;
        time_ns.saturating_sub((time_ns % period_ns + period_ns - phase_ns) % period_ns)
    }

    /// A sentence for the reader, where the period is a guess that mattered.
    pub(super) fn note(&self) -> Option<String> {
        let is_found = !self.is_guess || self.shortest.1 >= SHORTEST_SEEN_MIN;
        (self.was_used && !is_found).then(|| {
            format!(
                "the trace does not contain the tick rate of its machine; {} Hz is assumed, from \
                 which the expiries of timer-wheel timers follow",
                1_000_000_000 / self.period_ns
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
        assert_eq!(tick.period_ns(), 1_000_000);
        assert_eq!(tick.begin_ns(5_000_010), 4_000_070);
        assert_eq!(tick.note(), None);
    }

    #[test]
    fn counts_of_ticks_tell_the_period() {
        let mut tick = guess();
        for step in 0..30u64 {
            tick.see_count(u64::from(u32::MAX) - 10 + step * 10, 3_000 + step * 100_000_000);
        }
        assert_eq!(tick.period_ns(), 10_000_000);
        assert_eq!(tick.note(), None);
        assert_eq!(Tick::new(0).period_ns(), 1);
    }
}
