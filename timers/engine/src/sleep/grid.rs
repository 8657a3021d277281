//! Where the ticks of a period lie, and which of them were missed.

use thiserror::Error;

/// What an interval does about ticks whose time passed while its thread was busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overrun {
    /// Leaves them out and counts them; the next tick is the next one of the grid.
    #[default]
    Skip,
    /// Delivers them at once, one after the other, each with its own lateness. When more than
    /// `behind_max` lie behind, the oldest are left out and counted.
    CatchUp {
        /// How many ticks may lie behind.
        behind_max: u32,
    },
}

/// An interval needs a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the period of an interval is zero: give at least a nanosecond")]
pub struct ZeroPeriod;

/// The times start + k × period for k ≥ 1, without rounding and so without drift. A time beyond the
/// end of the clock is the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    next_ns: u64,
    period_ns: u64,
    overrun: Overrun,
    missed_total: u64,
}

impl Grid {
    pub(super) fn new(start_ns: u64, period_ns: u64, overrun: Overrun) -> Result<Self, ZeroPeriod> {
        if period_ns == 0 {
            return Err(ZeroPeriod);
        }
        let next_ns = start_ns.saturating_add(period_ns);
        Ok(Self { next_ns, period_ns, overrun, missed_total: 0 })
    }

    /// The grid from `start_ns` on; what was missed stays counted.
    pub(super) fn restart(&mut self, start_ns: u64) {
        self.next_ns = start_ns.saturating_add(self.period_ns);
    }

    pub(super) fn set_overrun(&mut self, overrun: Overrun) {
        self.overrun = overrun;
    }

    /// When the next tick is due.
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// The due tick is delivered at `now_ns`. Says how many after it are left out.
    pub(super) fn delivered(&mut self, now_ns: u64) -> u64 {
        let behind = now_ns.saturating_sub(self.next_ns) / self.period_ns;
        let missed = match self.overrun {
            Overrun::Skip => behind,
            Overrun::CatchUp { behind_max } => behind.saturating_sub(u64::from(behind_max)),
        };
        let step_ns = self.period_ns.saturating_mul(missed.saturating_add(1));
        self.next_ns = self.next_ns.saturating_add(step_ns);
        self.missed_total = self.missed_total.saturating_add(missed);
        missed
    }

    pub(super) fn missed_total(&self) -> u64 {
        self.missed_total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Delivers a tick at each of the times; returns (due, missed) of each.
    fn deliver(overrun: Overrun, times: &[u64]) -> Vec<(u64, u64)> {
        let mut grid = Grid::new(1_000, 100, overrun).unwrap();
        times.iter().map(|now_ns| (grid.next_ns(), grid.delivered(*now_ns))).collect()
    }

    #[test]
    fn lateness_does_not_move_the_grid() {
        let ticks = deliver(Overrun::Skip, &[1_199, 1_201, 1_350]);
        assert_eq!(ticks, [(1_100, 0), (1_200, 0), (1_300, 0)]);
    }

    #[test]
    fn skipping_leaves_out_what_has_passed() {
        let ticks = deliver(Overrun::Skip, &[1_450, 1_500, 1_699]);
        assert_eq!(ticks, [(1_100, 3), (1_500, 0), (1_600, 0)]);
    }

    #[test]
    fn a_tick_due_at_this_very_moment_is_missed_when_skipping() {
        assert_eq!(deliver(Overrun::Skip, &[1_200, 1_300]), [(1_100, 1), (1_300, 0)]);
    }

    #[test]
    fn catching_up_delivers_all_up_to_its_bound() {
        let ticks = deliver(Overrun::CatchUp { behind_max: 2 }, &[1_350, 1_350, 1_350, 2_000]);
        assert_eq!(ticks, [(1_100, 0), (1_200, 0), (1_300, 0), (1_400, 4)]);
    }

    #[test]
    fn edges() {
        assert_eq!(Grid::new(0, 0, Overrun::Skip).err(), Some(ZeroPeriod));
        let mut last = Grid::new(u64::MAX - 5, 10, Overrun::Skip).unwrap();
        assert_eq!(last.next_ns(), u64::MAX);
        assert_eq!(last.delivered(u64::MAX), 0);
        assert_eq!(last.next_ns(), u64::MAX);
        let mut dense = Grid::new(0, 1, Overrun::Skip).unwrap();
        assert_eq!(dense.delivered(u64::MAX), u64::MAX - 1);
        assert_eq!((dense.next_ns(), dense.delivered(u64::MAX)), (u64::MAX, 0));
    }

    proptest! {
        /// Ticks delivered and missed are together every point of the grid up to the last due.
        #[test]
        fn nothing_is_lost(
            period_ns in 1..10_000_u64,
            delays in prop::collection::vec(0..50_000_u64, 1..100),
            behind_max in prop::option::of(0..5_u32),
        ) {
            let overrun = behind_max.map_or(Overrun::Skip, |behind_max| Overrun::CatchUp { behind_max });
            let mut grid = Grid::new(7, period_ns, overrun).unwrap();
            let mut now_ns = 7;
            let mut delivered = 0;
            for delay_ns in delays {
                now_ns = (now_ns + delay_ns).max(grid.next_ns());
                grid.delivered(now_ns);
                delivered += 1;
                prop_assert_eq!(grid.next_ns(), 7 + (delivered + grid.missed_total() + 1) * period_ns);
                let behind = (now_ns + period_ns).saturating_sub(grid.next_ns()) / period_ns;
                prop_assert!(behind <= u64::from(behind_max.unwrap_or(0)));
            }
        }
    }
}
