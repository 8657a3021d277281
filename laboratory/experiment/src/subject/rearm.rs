//! What it costs to move a timeout, and how often that programs a clock-event device.

use super::parameters::Interval;
use super::{Ask, Counts, Kind, LOOK_EVERY, Observation, Subject, Yield};
use crate::{Figure, Series};
use serde::Deserialize;
use std::time::Duration;
use tardy_lab::rearm::{self, KNOWN, Pace, Plan, RearmMeasurement};
use tardy_stats::Counted;

pub(super) const KIND: Kind =
    Kind { name: "rearm", parse: |parameters| Ok(Box::new(parameters.try_into::<Rearm>()?)) };

/// The moves, as `tardy measure rearm` makes them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Rearm {
    /// How long after the last move the timeout expires.
    timeout: Interval,
    /// From one move to the next.
    every: Interval,
    /// How long it is moved before a pause in which it expires, on average.
    pause_after: Interval,
    /// What the moving thread does between moves: `spin` or `sleep`.
    pace: WrittenPace,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WrittenPace {
    Spin,
    Sleep,
}

impl Default for Rearm {
    fn default() -> Self {
        let Plan { timeout_ns, every_ns, pause_after_ns, .. } = Plan::default();
        Self {
            timeout: Interval { ns: timeout_ns },
            every: Interval { ns: every_ns },
            pause_after: Interval { ns: pause_after_ns },
            pace: WrittenPace::Spin,
        }
    }
}

impl Rearm {
    fn run(&self, ask: &mut Ask<'_>, length: Duration) -> Result<RearmMeasurement, String> {
        let plan = Plan {
            timeout_ns: self.timeout.ns,
            every_ns: self.every.ns,
            pause_after_ns: self.pause_after.ns,
            duration: length / KNOWN.len() as u32,
            pace: match self.pace {
                WrittenPace::Spin => Pace::Spin,
                WrittenPace::Sleep => Pace::Sleep,
            },
            seed: ask.seed,
        };
        let running = rearm::start(&plan).map_err(|error| error.to_string())?;
        while !running.wait(LOOK_EVERY) {
            if (ask.is_over)() {
                running.stop();
            }
            (ask.tell)(None);
        }
        running.finish().map_err(|error| error.to_string())
    }
}

impl Subject for Rearm {
    fn measure(&self, ask: &mut Ask<'_>) -> Result<Yield, String> {
        let (measured, recorded) = ask.parts();
        let measurement = self.run(ask, measured)?;
        let mut found = Yield::default();
        // The formula for how often a move programs the device needs it.
        found.figures.extend(ask.hz.map(|hz| Figure::of("", "hz", f64::from(hz))));
        for method in &measurement.methods {
            let figure = |name, value| Figure::of(method.name, name, value);
            found.series.push(Series {
                name: method.name.to_owned(),
                latencies: Counted::from(&method.call),
            });
            found.figures.extend([
                figure("moves", method.moves as f64),
                figure("mover_cpu_ns_per_move", method.mover_cpu.mean_ns()),
                figure("missed", method.missed as f64),
                figure("lateness_mean_ns", method.lateness.mean_ns()),
                figure("lateness_max_ns", method.lateness.max_ns() as f64),
            ]);
        }
        ask.count(&mut found, "Programmings", |ask, observation| {
            self.counts(ask, observation, recorded)
        });
        Ok(found)
    }
}

impl Rearm {
    /// Moves once more, and counts what the kernel programmed meanwhile.
    fn counts(
        &self,
        ask: &mut Ask<'_>,
        observation: Box<dyn Observation + '_>,
        length: Duration,
    ) -> Counts {
        let measurement = self.run(ask, length)?;
        let counted = observation.programmings(&measurement)?;
        let of_method =
            measurement.methods.iter().zip(counted.methods).flat_map(|(method, counted)| {
                [
                    Figure::of(method.name, "recorded_moves", counted.moves as f64),
                    Figure::of(method.name, "programmings", counted.programmed as f64),
                    Figure::of(
                        method.name,
                        "programmings_per_move",
                        counted.programmed as f64 / counted.moves.max(1) as f64,
                    ),
                ]
            });
        Ok((of_method.collect(), counted.notes))
    }
}
