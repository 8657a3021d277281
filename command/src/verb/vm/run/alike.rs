//! Whether runs of the same seed are the same: to the bit, or where they begin to differ.

use super::Over;
use crate::failure::Failure;
use crate::guest::recordings_below;
use std::fmt;
use std::path::Path;
use tardy_model::{Batch, Event};
use tardy_recording::Recording;

/// Whether all runs said and recorded the same.
pub(super) struct Alike {
    runs: usize,
    /// Events that were compared, of one run.
    events: u64,
    /// Where the first difference is.
    difference: Option<String>,
}

impl Alike {
    /// Compares every run with the first.
    pub(super) fn of(runs: &[Over]) -> Result<Self, Failure> {
        let mut alike = Self { runs: runs.len(), events: 0, difference: None };
        let Some((first, others)) = runs.split_first() else { return Ok(alike) };
        for (number, other) in (2..).zip(others) {
            alike.difference = match said(first, other) {
                Some(difference) => Some(difference),
                None => alike.recorded(&first.folder, &other.folder)?,
            };
            if let Some(difference) = &mut alike.difference {
                *difference = format!("run {number} differs from run 1: {difference}");
                break;
            }
        }
        Ok(alike)
    }

    /// Whether there is no difference.
    pub(super) fn is_alike(&self) -> bool {
        self.difference.is_none()
    }

    /// Where the first difference is, in words.
    pub(super) fn difference(&self) -> Option<&str> {
        self.difference.as_deref()
    }

    fn recorded(&mut self, first: &Path, other: &Path) -> Result<Option<String>, Failure> {
        for (one, two) in recordings_below(first).iter().zip(&recordings_below(other)) {
            let (mut one, mut two) = (Events::of(one)?, Events::of(two)?);
            self.events = 0;
            loop {
                let (a, b) = (one.next()?, two.next()?);
                if a.is_none() && b.is_none() {
                    break;
                }
                if a != b {
                    return Ok(Some(unequal(self.events, a, b)));
                }
                self.events += 1;
            }
        }
        Ok(None)
    }
}

fn said(one: &Over, two: &Over) -> Option<String> {
    let (one, two) = (&one.finished, &two.finished);
    if one.ran.fate != two.ran.fate {
        return Some(format!("it ended as {:?} and {:?}", one.ran.fate, two.ran.fate));
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, other) = (text(&one.stdout), text(&two.stdout));
    let mut lines = (1..).zip(said.lines().zip(other.lines()));
    if let Some((number, (a, b))) = lines.find(|(_, (a, b))| a != b) {
        return Some(format!("line {number} of the output: {a:?} and {b:?}"));
    }
    (said != other).then(|| "one has more output than the other".to_owned())
}

fn unequal(index: u64, one: Option<Event>, two: Option<Event>) -> String {
    let told = |event: Option<Event>| {
        event.map_or("the end".to_owned(), |event| {
            format!("{:?} at {:.6} s", event.kind(), event.time_ns as f64 / 1e9)
        })
    };
    format!("event {}: {} and {}", index + 1, told(one), told(two))
}

/// The events of a recording, one by one.
struct Events {
    recording: Recording,
    batch: Batch,
    at: usize,
}

impl Events {
    fn of(folder: &Path) -> Result<Self, Failure> {
        Ok(Self { recording: Recording::open(folder)?, batch: Batch::default(), at: 0 })
    }

    fn next(&mut self) -> Result<Option<Event>, Failure> {
        while self.at >= self.batch.events.len() {
            self.batch.clear();
            self.at = 0;
            if !self.recording.read(&mut self.batch)? {
                return Ok(None);
            }
        }
        self.at += 1;
        Ok(Some(self.batch.events[self.at - 1]))
    }
}

impl fmt::Display for Alike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.difference, self.events) {
            (Some(difference), _) => f.write_str(difference),
            (None, 0) => write!(f, "{} runs with identical output, byte for byte", self.runs),
            (None, events) => write!(
                f,
                "{} runs with identical output, byte for byte, and identical events, all {events}",
                self.runs
            ),
        }
    }
}
