//! `tardy.measure.rearm/1`.

use super::figures::FiguresDocument;
use crate::rearm::{DeviceSeen, DeviceUse, per_move};
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
    /// Why `device` is `null` in the methods.
    device_not_seen: Option<String>,
    /// Why what is seen may be wrong.
    notes: Vec<String>,
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
    kernel_timers: Option<u64>,
    kernel_timers_per_move: Option<f64>,
    device_programmed: Option<u64>,
    device: Option<DeviceDocument>,
    cpu_ns_per_move: f64,
    waiter_cpu_ns_per_move: f64,
    pauses: u64,
    late_moves: u64,
    delivered: u64,
    missed: u64,
    delivered_as_expected: bool,
    lateness: FiguresDocument,
}

/// What was seen of the clock-event devices in a method's turns.
#[derive(Debug, Serialize)]
struct DeviceDocument {
    moves: u64,
    programmed_per_move: f64,
    programmed_by_all: u64,
    programmed_by_all_per_second: f64,
}

impl RearmDocument {
    /// Of a measurement, and of what was seen of the clock-event devices, or why they were not.
    pub fn new(measurement: &RearmMeasurement, device: &Result<DeviceSeen, String>) -> Self {
        let seen = device.as_ref().ok();
        let used = |number| seen.and_then(|seen| seen.methods.get(number));
        let methods = measurement.methods.iter().enumerate();
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
            device_not_seen: device.as_ref().err().cloned(),
            notes: seen.map_or_else(Vec::new, |seen| seen.notes.clone()),
            methods: methods
                .map(|(number, method)| RearmMethodDocument::new(method, used(number)))
                .collect(),
        }
    }
}

impl From<&DeviceUse> for DeviceDocument {
    fn from(used: &DeviceUse) -> Self {
        Self {
            moves: used.moves,
            programmed_per_move: used.per_move(),
            programmed_by_all: used.programmed_by_all,
            programmed_by_all_per_second: used.all_per_second(),
        }
    }
}

impl RearmMethodDocument {
    fn new(method: &RearmMethod, device: Option<&DeviceUse>) -> Self {
        Self {
            name: method.name,
            summary: method.summary,
            moves: method.moves,
            call: FiguresDocument::from(&method.call),
            kernel_timers: method.kernel_timers,
            kernel_timers_per_move: method.kernel_timers.map(|timers| per_move(method, timers)),
            device_programmed: device.map(|used| used.programmed),
            device: device.map(DeviceDocument::from),
            cpu_ns_per_move: method.mover_cpu.mean_ns(),
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
        let document = RearmDocument::new(&measurement, &Ok(crate::rearm::tests::seen()));
        insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
    }

    #[test]
    fn what_was_not_seen_is_null_and_says_why() {
        let measurement = crate::rearm::tests::measurement();
        let document = RearmDocument::new(&measurement, &Err("it needs CAP_BPF".to_owned()));
        let document = serde_json::to_value(&document).unwrap();
        assert_eq!(document["device_not_seen"], "it needs CAP_BPF");
        let method = &document["methods"][0];
        assert!(method["device_programmed"].is_null() && method["device"].is_null(), "{method}");
    }
}
