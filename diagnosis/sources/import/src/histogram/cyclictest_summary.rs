//! What cyclictest prints while it runs, and what is left of it in mails and logs: a line per thread,
//! `T: 0 ( 1234) P:80 I:1000 C:  10000 Min:      2 Act:    3 Avg:    3 Max:      12`. The last line of a
//! thread counts.
//!
//! There are no bins: minimum, mean and maximum are all that is told, the mean cut to whole units. Those
//! are µs; with `-N` they are ns, and the lines do not say so.

use super::lines::{Lines, unquoted};
use super::row::{Histograms, Row};
use super::{Format, ROWS_MAX};
use crate::{ImportError, Input};
use std::collections::BTreeMap;

pub(super) struct CyclictestSummary;

const NAME: &str = "cyclictest-summary";
const UNIT_NS: u64 = 1_000;

impl Format for CyclictestSummary {
    fn name(&self) -> &'static str {
        NAME
    }

    fn written_by(&self) -> &'static str {
        "cyclictest"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        let mut lines = head.split(|byte| *byte == b'\n');
        lines.any(|line| {
            std::str::from_utf8(unquoted(line)).is_ok_and(|line| Thread::of(line).is_some())
        })
    }

    fn read(&self, input: Input) -> Result<Histograms, ImportError> {
        let mut lines = Lines::new(input, NAME);
        let mut line = String::new();
        let mut rows: BTreeMap<u32, Row> = BTreeMap::new();
        while lines.next(&mut line)? {
            let Some(thread) = Thread::of(&line) else { continue };
            if rows.len() == ROWS_MAX && !rows.contains_key(&thread.number) {
                return Err(lines.broken(format!("more than {ROWS_MAX} threads")));
            }
            rows.insert(thread.number, thread.row(&lines)?);
        }
        Ok(Histograms {
            tool: "cyclictest",
            unit_ns: UNIT_NS,
            bin_ns: UNIT_NS,
            rows: rows.into_values().collect(),
            notes: vec![
                "the file has no bins: it has minimum, mean (cut to whole µs) and maximum, but \
                 no percentiles (cyclictest -h 400 writes a histogram)"
                    .to_owned(),
            ],
            ..Histograms::default()
        })
    }
}

/// A line.
struct Thread<'a> {
    number: u32,
    pid: Option<u32>,
    /// `P:80 I:1000 C: …`.
    fields: &'a str,
}

impl<'a> Thread<'a> {
    /// Perhaps after an escape sequence that moves the cursor, or a log's own words.
    fn of(line: &'a str) -> Option<Self> {
        let (_, thread) = line.split_once("T:")?;
        let (number, rest) = thread.split_once('(')?;
        let (pid, fields) = rest.split_once(')')?;
        let number = number.trim().parse().ok()?;
        let is_whole = ["C:", "Min:", "Avg:", "Max:"].iter().all(|key| fields.contains(key));
        is_whole.then(|| Self { number, pid: pid.trim().parse().ok(), fields })
    }

    fn word(&self, key: &str) -> Option<&'a str> {
        // `P:` is no part of another word.
        let at = self
            .fields
            .match_indices(key)
            .find(|(at, _)| *at == 0 || self.fields.as_bytes()[at - 1].is_ascii_whitespace())?;
        self.fields[at.0 + key.len()..].split_ascii_whitespace().next()
    }

    fn row(&self, lines: &Lines) -> Result<Row, ImportError> {
        let number = |key| lines.number(self.word(key).unwrap_or_default());
        let time_ns = |key| lines.time_ns(number(key)?, UNIT_NS);
        let mut row = Row {
            name: format!("thread {}", self.number),
            pid: self.pid,
            prio: self.word("P:").and_then(|prio| prio.parse().ok()),
            interval_ns: time_ns("I:").ok(),
            count: number("C:")?,
            ..Row::default()
        };
        if row.count > 0 {
            row.min_ns = Some(time_ns("Min:")?);
            row.mean_ns = Some(number("Avg:")? as f64 * UNIT_NS as f64);
            row.max_ns = Some(time_ns("Max:")?);
        }
        Ok(row)
    }
}
