//! A period, kept.

use std::time::Duration;

use super::grid::{Grid, Overrun, ZeroPeriod};
use super::precision::Precision;
use super::sleeper::Sleeper;
use crate::clock::{Moment, duration_ns, now_ns};

/// Ticks at start + k × period for k = 1, 2, …: the grid comes from the start, so that a late tick
/// does not move those after it.
///
/// It contains a [`Sleeper`], and so belongs to its thread and holds its timer slack at 1 ns.
///
/// ```
/// use std::time::Duration;
/// use tardy_timers::sleep::{Interval, Precision};
///
/// let mut interval = Interval::new(Duration::from_micros(200), Precision::Exact)?;
/// let first = interval.tick();
/// let second = interval.tick();
/// assert_eq!(second.scheduled_ns - first.scheduled_ns, 200_000 * (1 + first.missed));
/// # Ok::<(), tardy_timers::sleep::ZeroPeriod>(())
/// ```
pub struct Interval {
    sleeper: Sleeper,
    grid: Grid,
}

/// One tick of an [`Interval`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// When it was due, ns of `CLOCK_MONOTONIC`.
    pub scheduled_ns: u64,
    /// How much later it came, ns.
    pub lateness_ns: u64,
    /// How many ticks between this and the next are left out because their time has passed too.
    pub missed: u64,
}

/// An interval that starts now, with the default [`Precision`], and skips what it misses.
///
/// # Errors
/// [`ZeroPeriod`].
pub fn interval(period: Duration) -> Result<Interval, ZeroPeriod> {
    Interval::new(period, Precision::default())
}

impl Interval {
    /// An interval that starts now: the first tick is due a period from now.
    ///
    /// # Errors
    /// [`ZeroPeriod`].
    pub fn new(period: Duration, precision: Precision) -> Result<Self, ZeroPeriod> {
        Self::starting_at(now_ns(), period, precision)
    }

    /// An interval whose grid begins at `start`, past or future: intervals of several threads that
    /// begin at one time tick together.
    ///
    /// # Errors
    /// [`ZeroPeriod`].
    pub fn starting_at(
        start: impl Into<Moment>,
        period: Duration,
        precision: Precision,
    ) -> Result<Self, ZeroPeriod> {
        let grid = Grid::new(start.into().ns(), duration_ns(period), Overrun::default())?;
        Ok(Self { sleeper: Sleeper::new(precision), grid })
    }

    /// The same interval with another way to deal with what it misses.
    #[must_use]
    pub fn with_overrun(mut self, overrun: Overrun) -> Self {
        self.grid.set_overrun(overrun);
        self
    }

    /// Waits for the next tick; returns at once where its time has passed.
    pub fn tick(&mut self) -> Tick {
        let scheduled_ns = self.grid.next_ns();
        let lateness_ns = self.sleeper.sleep_until(scheduled_ns).lateness_ns;
        let missed = self.grid.delivered(scheduled_ns.saturating_add(lateness_ns));
        Tick { scheduled_ns, lateness_ns, missed }
    }

    /// Begins the grid anew, now. The count of missed ticks stays.
    pub fn reset(&mut self) {
        self.grid.restart(now_ns());
    }

    /// Ticks left out since the interval was made.
    pub fn missed_total(&self) -> u64 {
        self.grid.missed_total()
    }
}
