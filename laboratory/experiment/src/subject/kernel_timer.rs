//! How often moving a timer of the kernel's own programs the clock-event device, by the kernel's own count.

use super::parameters::Interval;
use super::{Ask, Kind, Subject, Yield};
use crate::{Figure, Series};
use serde::Deserialize;
use tardy_lab::kernel_timer::{Plan, measure};
use tardy_stats::Counted;

pub(super) const KIND: Kind = Kind {
    name: "kernel-timer",
    parse: |parameters| Ok(Box::new(parameters.try_into::<KernelTimer>()?)),
};

/// The only series.
const NAME: &str = "hrtimer_start";

/// The moves, in the kernel `policies`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct KernelTimer {
    /// How long after the last move the timer expires.
    timeout: Interval,
    /// From one move to the next.
    every: Interval,
    /// How long it is moved before a pause in which it expires.
    pause_after: Interval,
}

impl Default for KernelTimer {
    fn default() -> Self {
        let [timeout, every, pause_after] =
            [300_000, 20_000, 100_000_000].map(|ns| Interval { ns });
        Self { timeout, every, pause_after }
    }
}

impl Subject for KernelTimer {
    fn measure(&self, ask: &mut Ask<'_>) -> Result<Yield, String> {
        let plan = Plan {
            timeout_ns: self.timeout.ns,
            every_ns: self.every.ns,
            pause_after_ns: self.pause_after.ns,
            duration: ask.length,
        };
        let outcome = measure(&plan, ask.is_over).map_err(|error| error.to_string())?;
        let moves = outcome.call.count();
        let per_move = |count: u64| count as f64 / moves.max(1) as f64;
        let figure = |name, value| Figure::of(NAME, name, value);
        let (counted, expiries) = (outcome.counted, outcome.expiries);
        let mut found = Yield::default();
        found.figures.extend(ask.hz.map(|hz| Figure::of("", "hz", f64::from(hz))));
        found.figures.extend([
            figure("recorded_moves", moves as f64),
            figure("programmings", counted.programs as f64),
            figure("programmings_per_move", per_move(counted.programs)),
            figure("interrupts_per_move", per_move(counted.interrupts)),
            figure("early_per_move", per_move(counted.early)),
            figure("expiries", expiries.count as f64),
            figure("expiries_too_early", expiries.too_early as f64),
            figure("expiries_lost", outcome.lost as f64),
            figure("lateness_mean_ns", expiries.late_sum_ns as f64 / expiries.count.max(1) as f64),
            figure("lateness_max_ns", outcome.late_max_ns as f64),
        ]);
        found
            .series
            .push(Series { name: NAME.to_owned(), latencies: Counted::from(&outcome.call) });
        Ok(found)
    }
}
