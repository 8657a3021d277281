//! How long sleeps take that ask for the same time in different ways.

use super::parameters::Interval;
use super::{Ask, Kind, LOOK_EVERY, Subject, Yield};
use crate::{Figure, Series};
use serde::Deserialize;
use std::time::Instant;
use tardy_lab::sleep::{self, Plan, ROUNDS_MAX};
use tardy_stats::Counted;

pub(super) const KIND: Kind =
    Kind { name: "sleep", parse: |parameters| Ok(Box::new(parameters.try_into::<Sleep>()?)) };

/// The sleeps, as `tardy measure sleep` makes them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Sleep {
    /// How long each is to be.
    request: Interval,
    /// Under `SCHED_FIFO` at this priority.
    prio: Option<u8>,
    /// On this CPU alone.
    cpu: Option<u16>,
    /// These ways alone; none: all.
    methods: Vec<String>,
}

impl Default for Sleep {
    fn default() -> Self {
        Self { request: Interval { ns: 50_000 }, prio: None, cpu: None, methods: vec![] }
    }
}

impl Subject for Sleep {
    fn measure(&self, ask: &mut Ask<'_>) -> Result<Yield, String> {
        // All that can be slept in that time, and more: the time ends it.
        let ways = if self.methods.is_empty() { sleep::KNOWN.len() } else { self.methods.len() };
        let shortest_ns = self.request.ns * ways as u64;
        let rounds = ask.length.as_nanos() as u64 / shortest_ns + 1;
        let plan = Plan {
            request_ns: self.request.ns,
            rounds: rounds.min(ROUNDS_MAX),
            fifo_prio: self.prio,
            cpu: self.cpu,
            methods: self.methods.clone(),
            seed: ask.seed,
            ..Plan::default()
        };
        let begun = Instant::now();
        let running = sleep::start(&plan).map_err(|error| error.to_string())?;
        while !running.wait(LOOK_EVERY.min(ask.length)) {
            if begun.elapsed() >= ask.length || (ask.is_over)() {
                running.stop();
            }
            (ask.tell)(None);
        }
        let measurement = running.finish().map_err(|error| error.to_string())?;
        let mut found = Yield { notes: measurement.notes, ..Yield::default() };
        for method in &measurement.methods {
            let (name, count) = (method.name(), method.elapsed.count().max(1) as f64);
            let cpu_ns = method.cpu.mean_ns();
            found.figures.push(Figure::of(&name, "cpu_mean_ns", cpu_ns));
            found.figures.push(Figure::of(&name, "early_share", method.early as f64 / count));
            let latencies = Counted::of_values(method.series.iter().map(|&ns| u64::from(ns)));
            found.series.push(Series { name, latencies });
        }
        Ok(found)
    }
}
