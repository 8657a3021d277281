//! A flight recorder: nothing is read until a watched thread runs later than the bound.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tardy_kernel::{Exceeded, LiveSource};

/// How often the recorder looks whether somebody was late. What the buffer holds must be more.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long it goes on after that, so that what follows the late wakeup is there too.
const GO_ON: Duration = Duration::from_millis(10);

/// Who ran too late.
#[derive(Clone, Debug)]
pub(crate) struct Late {
    pub(crate) exceeded: Exceeded,
    /// Its name, where it is still there.
    pub(crate) name: String,
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exceeded { task, cpu, .. } = self.exceeded;
        let late_us = self.exceeded.late_ns() as f64 / 1e3;
        write!(f, "{} ({}) ran {late_us:.1} us late on CPU {}", self.name, task.0, cpu.0)
    }
}

/// Waits until a watched thread exceeds the bound, and says who; or until `stop`.
pub(super) fn wait(source: &dyn LiveSource, stop: &AtomicBool) -> Option<Late> {
    loop {
        if let Some(exceeded) = source.exceeded() {
            let begun = Instant::now();
            let name = name_of(exceeded.task.0);
            std::thread::sleep(GO_ON.saturating_sub(begun.elapsed()));
            return Some(Late { exceeded, name });
        }
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn name_of(thread: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{thread}/comm")).unwrap_or_default();
    let name = name.trim_end();
    if name.is_empty() { "a thread that has gone".to_owned() } else { name.to_owned() }
}

/// What a reader of the recording is told from its beginning.
pub(super) fn note(over_ns: u64) -> String {
    format!(
        "a flight recording, of the time before a watched thread ran more than {} us late: when \
         interrupts of the timer begin and end, and when callbacks end, is not in it, so their time is \
         that of whom they interrupted",
        us(over_ns)
    )
}

/// What is known at its end.
pub(super) fn closing_note(over_ns: u64, late: Option<&Late>) -> String {
    match late {
        Some(late) => format!("the bound of {} us was exceeded: {late}", us(over_ns)),
        None => format!("the bound of {} us was not exceeded", us(over_ns)),
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}
