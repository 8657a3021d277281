//! How late cyclic threads wake.

use super::parameters::{Cpus, Interval};
use super::{Ask, Kind, LOOK_EVERY, Subject, Yield};
use crate::{Figure, Series};
use serde::Deserialize;
use tardy_lab::cyclic::{self, Affinity, Plan};
use tardy_stats::Counted;

pub(super) const KIND: Kind =
    Kind { name: "cyclic", parse: |parameters| Ok(Box::new(parameters.try_into::<Cyclic>()?)) };

/// The threads, as `tardy measure cyclic` has them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Cyclic {
    /// How many; one per CPU of `cpus` where it is left out.
    threads: Option<usize>,
    /// From one expiry to the next.
    interval: Interval,
    /// `SCHED_FIFO` priority.
    prio: u8,
    /// The CPUs that they are bound to.
    cpus: Cpus,
    /// The bound on the idle states' exit latency, µs; −1 leaves the idle states alone.
    dma_latency_us: i32,
}

impl Default for Cyclic {
    fn default() -> Self {
        Self {
            threads: None,
            interval: Interval { ns: 1_000_000 },
            prio: 80,
            cpus: Cpus(Affinity::EachCpu),
            dma_latency_us: 0,
        }
    }
}

impl Subject for Cyclic {
    fn measure(&self, ask: &mut Ask<'_>) -> Result<Yield, String> {
        let plan = Plan {
            threads: self.threads,
            interval_ns: self.interval.ns,
            prio: self.prio,
            affinity: self.cpus.0.clone(),
            dma_latency_us: (self.dma_latency_us >= 0).then_some(self.dma_latency_us),
            ..Plan::default()
        };
        run(plan, ask)
    }
}

/// Measures as planned, for as long as asked.
pub(super) fn run(plan: Plan, ask: &mut Ask<'_>) -> Result<Yield, String> {
    let plan = Plan { duration: Some(ask.length), ..plan };
    let running = cyclic::prepare(&plan).map_err(|error| error.to_string())?.start();
    while !running.wait(LOOK_EVERY) {
        if (ask.is_over)() {
            running.stop();
        }
        let figures = running.snapshot();
        (ask.tell)(figures.iter().map(|thread| thread.max_ns).max());
    }
    let measurement = running.finish();
    let mut found = Yield { notes: measurement.notes, ..Yield::default() };
    for thread in &measurement.threads {
        found.series.push(Series {
            name: thread.name.clone(),
            latencies: Counted::from(&thread.latencies),
        });
        let mut figure = |name, value| found.figures.push(Figure::of(&thread.name, name, value));
        figure("overruns", thread.overruns as f64);
        if let Some(dependence) = thread.blocking.dependence() {
            figure("autocorrelation_lag1", dependence.lag_1);
            figure("autocorrelation_tau", dependence.tau);
        }
        if let Some(usage) = thread.usage {
            figure("page_faults", (usage.minor_faults + usage.major_faults) as f64);
        }
    }
    Ok(found)
}
