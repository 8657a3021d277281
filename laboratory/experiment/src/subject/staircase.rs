//! How far cyclic threads of rising period and falling priority stray from their timelines.

use super::parameters::Interval;
use super::{Ask, Kind, Subject, Yield, cyclic};
use serde::Deserialize;
use tardy_lab::staircase;

pub(super) const KIND: Kind = Kind {
    name: "staircase",
    parse: |parameters| Ok(Box::new(parameters.try_into::<Staircase>()?)),
};

/// The threads, as `tardy measure staircase` has them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Staircase {
    /// How many.
    threads: usize,
    /// The period of the first; the second has twice as much, and so on.
    period: Interval,
    /// The `SCHED_FIFO` priority of the first; each next one's is lower by 1.
    prio: u8,
    /// The CPU of all; the first one that there is where it is left out.
    cpu: Option<u16>,
    /// The levels of their timers, where the kernel has levels.
    timer_levels: Vec<u8>,
}

impl Default for Staircase {
    fn default() -> Self {
        let staircase::Staircase { threads, period_ns, prio, cpu, timer_levels } =
            staircase::Staircase::default();
        Self { threads, period: Interval { ns: period_ns }, prio, cpu, timer_levels }
    }
}

impl Subject for Staircase {
    fn measure(&self, ask: &mut Ask<'_>) -> Result<Yield, String> {
        let Self { threads, period, prio, cpu, ref timer_levels } = *self;
        let timer_levels = timer_levels.clone();
        let steps = staircase::Staircase { threads, period_ns: period.ns, prio, cpu, timer_levels };
        cyclic::run(steps.plan(), ask)
    }
}
