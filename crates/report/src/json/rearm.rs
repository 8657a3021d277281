//! `tardy.measure.rearm/1`.

use super::figures::FiguresDocument;
use crate::rearm::per_move;
use serde::Serialize;
use tardy_lab::rearm::{Pace, RearmMeasurement, RearmMethod};

/// A comparison of moved timeouts: `measure rearm --json`.
#[derive(Debug, Serialize)]
pub struct RearmDocument {
    schema: &'static str,
    timeout_ns: u64,
    every_ns: u64,
    pace: &'static str,
    seed: u64,
    clock_ns: u64,
    /// One per method.
    pub methods: Vec<RearmMethodDocument>,
}

/// One method.
#[derive(Debug, Serialize)]
pub struct RearmMethodDocument {
    name: &'static str,
    summary: &'static str,
    moves: u64,
    call: FiguresDocument,
    kernel_timers: u64,
    kernel_timers_per_move: f64,
    /// Not seen: no event that is recorded tells it.
    device_programmed: Option<u64>,
    waiter_cpu_ns_per_move: f64,
    pauses: u64,
    late_moves: u64,
    delivered: u64,
    missed: u64,
    delivered_as_expected: bool,
    lateness: FiguresDocument,
}

impl From<&RearmMeasurement> for RearmDocument {
    fn from(measurement: &RearmMeasurement) -> Self {
        Self {
            schema: "tardy.measure.rearm/1",
            timeout_ns: measurement.timeout_ns,
            every_ns: measurement.every_ns,
            pace: match measurement.pace {
                Pace::Spin => "spin",
                Pace::Sleep => "sleep",
            },
            seed: measurement.seed,
            clock_ns: measurement.clock_ns,
            methods: measurement.methods.iter().map(RearmMethodDocument::from).collect(),
        }
    }
}

impl From<&RearmMethod> for RearmMethodDocument {
    fn from(method: &RearmMethod) -> Self {
        Self {
            name: method.name,
            summary: method.summary,
            moves: method.moves,
            call: FiguresDocument::from(&method.call),
            kernel_timers: method.kernel_timers,
            kernel_timers_per_move: per_move(method, method.kernel_timers),
            device_programmed: None,
            waiter_cpu_ns_per_move: per_move(method, method.waiter_cpu_ns),
            pauses: method.pauses,
            late_moves: method.late_moves,
            delivered: method.lateness.count(),
            missed: method.missed,
            delivered_as_expected: method.delivered_as_expected(),
            lateness: FiguresDocument::from(&method.lateness),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rearm_document() {
        let measurement = crate::rearm::tests::measurement();
        let document = RearmDocument::from(&measurement);
        insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
    }
}
