//! What a lock costs a thread of high priority where one of none has it.

use super::parameters::Interval;
use super::{Ask, Counts, Kind, LOOK_EVERY, Observation, Subject, Yield};
use crate::{Figure, Series};
use serde::Deserialize;
use std::time::Duration;
use tardy_lab::pi::{self, Ended, LockProtocol, PiMeasurement, Plan};
use tardy_stats::Counted;

pub(super) const KIND: Kind =
    Kind { name: "pi", parse: |parameters| Ok(Box::new(parameters.try_into::<Pi>()?)) };

/// The threads and their lock, as `tardy measure pi` has them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Pi {
    /// `inherit`, `none` or `protect`.
    protocol: Protocol,
    /// Whether the mutex is a robust one.
    robust: bool,
    /// The CPU of High and Busy; the last one that there is where it is left out.
    cpu: Option<u16>,
    /// High's priority.
    prio: u8,
    /// Busy time with the lock.
    locked: Interval,
    /// Busy time without it.
    free: Interval,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Protocol {
    Inherit,
    None,
    Protect,
}

impl Default for Pi {
    fn default() -> Self {
        let Plan { robust, cpu, prio, locked_ns, free_ns, .. } = Plan::default();
        let (locked, free) = (Interval { ns: locked_ns }, Interval { ns: free_ns });
        Self { protocol: Protocol::Inherit, robust, cpu, prio, locked, free }
    }
}

impl Pi {
    fn run(&self, ask: &mut Ask<'_>, length: Duration) -> Result<PiMeasurement, String> {
        let plan = Plan {
            protocol: match self.protocol {
                Protocol::Inherit => LockProtocol::Inherit,
                Protocol::None => LockProtocol::None,
                Protocol::Protect => LockProtocol::Protect,
            },
            robust: self.robust,
            cpu: self.cpu,
            prio: self.prio,
            locked_ns: self.locked.ns,
            free_ns: self.free.ns,
            rounds: None,
            duration: Some(length),
            ..Plan::default()
        };
        let running = pi::start(&plan, || false).map_err(|error| error.to_string())?;
        while !running.wait(LOOK_EVERY) {
            if (ask.is_over)() {
                running.stop();
            }
            (ask.tell)(None);
        }
        running.finish().map_err(|error| error.to_string())
    }

    /// Measures once more, and counts boosts meanwhile.
    fn counts(
        &self,
        ask: &mut Ask<'_>,
        observation: Box<dyn Observation + '_>,
        length: Duration,
    ) -> Counts {
        let measurement = self.run(ask, length)?;
        let boosts = observation.boosts(&measurement)?;
        let mut figures = vec![Figure::of("", "double_boosts", boosts.double as f64)];
        figures.extend(boosts.per_call.map(|mean| Figure::of("", "boosts_per_lock", mean)));
        Ok((figures, boosts.notes))
    }
}

impl Subject for Pi {
    fn measure(&self, ask: &mut Ask<'_>) -> Result<Yield, String> {
        let (measured, recorded) = ask.parts();
        let measurement = self.run(ask, measured)?;
        let mut found = Yield { notes: measurement.notes, ..Yield::default() };
        if !matches!(measurement.ended, Ended::Rounds | Ended::Duration | Ended::Stopped) {
            found.notes.push(format!(
                "A block ended early, because High made no progress: {}.",
                measurement.ended.name()
            ));
        }
        // The mail's figure first.
        for (name, latencies) in [("round", &measurement.jitter), ("to lock", &measurement.to_lock)]
        {
            let latencies = Counted::from(latencies);
            found.series.push(Series { name: name.to_owned(), latencies });
        }
        let of_block = |name, value: u64| Figure::of("", name, value as f64);
        found.figures.extend([
            of_block("slow_calls", measurement.slow_calls),
            of_block("sleeps", measurement.sleeps),
            of_block("low_rounds", measurement.low_rounds),
        ]);
        ask.count(&mut found, "Boosts", |ask, observation| self.counts(ask, observation, recorded));
        Ok(found)
    }
}
