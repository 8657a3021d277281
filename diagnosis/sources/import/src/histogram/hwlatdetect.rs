//! What hwlatdetect of rt-tests prints, and the file that its `--report` writes: times at which the
//! hardware took the CPU away, in whole µs, one by one. What took no longer than the threshold is not
//! there.

use super::Format;
use super::lines::Lines;
use super::row::{Filled, Histograms, Row};
use crate::{ImportError, Input};

pub(super) struct Hwlatdetect;

const NAME: &str = "hwlatdetect";
const UNIT_NS: u64 = 1_000;

impl Format for Hwlatdetect {
    fn name(&self) -> &'static str {
        NAME
    }

    fn written_by(&self) -> &'static str {
        "hwlatdetect"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        let first = head.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
        let first = first.unwrap_or_default();
        let has = |text: &[u8]| first.windows(text.len()).any(|window| window == text);
        first.starts_with(b"hwlatdetect:") || (first.starts_with(b"ts:") && has(b"inner:"))
    }

    fn read(&self, input: Input) -> Result<Histograms, ImportError> {
        let mut lines = Lines::new(input, NAME);
        let mut line = String::new();
        let mut row = Row { name: "hardware".to_owned(), ..Row::default() };
        let mut filled = Filled::default();
        let mut notes = Vec::new();
        let (mut samples, mut sum_ns) = (0u64, 0u128);
        let (mut recorded, mut max, mut threshold, mut listed) = (None, None, None, false);
        while lines.next(&mut line)? {
            let text = line.trim();
            if text.starts_with("ts:") {
                let us = larger(text, &lines)?;
                let ns = lines.time_ns(us, UNIT_NS)?;
                filled.add(&mut row, ns, 1).map_err(|why| lines.broken(why))?;
                row.min_ns = Some(row.min_ns.map_or(ns, |min_ns| min_ns.min(ns)));
                row.max_ns = Some(row.max_ns.map_or(ns, |max_ns| max_ns.max(ns)));
                (samples, sum_ns, listed) = (samples + 1, sum_ns + u128::from(ns), true);
                continue;
            }
            let Some((title, value)) = text.split_once(':') else { continue };
            let value = value.trim();
            match title {
                "Latency threshold" => threshold = Some(microseconds(value, &lines)?),
                "Max Latency" if value != "Below threshold" => {
                    max = Some(lines.time_ns(microseconds(value, &lines)?, UNIT_NS)?);
                }
                "Samples recorded" => recorded = Some(lines.number(value)?),
                "SMIs during run" => {
                    notes.push(format!(
                        "{} system management interrupts meanwhile",
                        lines.number(value)?
                    ));
                }
                _ => {}
            }
        }
        if recorded.is_none() && !listed {
            return Err(lines.missing("its line `Samples recorded:`"));
        }
        row.count = recorded.unwrap_or(samples);
        row.over = 0;
        if samples > 0 {
            row.mean_ns = Some(sum_ns as f64 / samples as f64);
        }
        if let Some(max_ns) = max {
            if listed && row.max_ns != Some(max_ns) {
                notes.push(format!(
                    "the file gives {max_ns} ns as the maximum, but the listed samples have {} ns",
                    row.max_ns.unwrap_or(0)
                ));
            }
            row.max_ns = row.max_ns.max(Some(max_ns));
        }
        notes.push(match threshold {
            Some(us) => format!(
                "the file leaves out delays up to the threshold of {us} µs: the figures are of \
                 longer ones only"
            ),
            None => "the file leaves out delays up to hwlatdetect's threshold: the figures are of \
                     longer ones only"
                .to_owned(),
        });
        Ok(Histograms {
            tool: NAME,
            unit_ns: UNIT_NS,
            bin_ns: UNIT_NS,
            rows: vec![row],
            notes,
            ..Histograms::default()
        })
    }
}

/// The longer of both times of a sample: `ts: 1484.012, inner:12, outer:0`.
fn larger(text: &str, lines: &Lines) -> Result<u64, ImportError> {
    let after = |key: &str| {
        let value = text.split_once(key).map(|(_, rest)| rest.split(',').next().unwrap_or(rest));
        let value = value.ok_or_else(|| lines.broken(format!("a sample without `{key}`")))?;
        lines.number(value.trim())
    };
    Ok(after("inner:")?.max(after("outer:")?))
}

/// `10us`.
fn microseconds(text: &str, lines: &Lines) -> Result<u64, ImportError> {
    lines.number(text.strip_suffix("us").unwrap_or(text).trim())
}
