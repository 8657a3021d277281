//! The report that oslat prints, of rt-tests.
//!
//! oslat rounds up: what took 1 µs or less is in bin 1, and its minimum and maximum are rounded the
//! same. The last bin holds all that is above it, too, and is taken as that.

use super::lines::{Lines, is_nothing};
use super::row::{Filled, Histograms, Row};
use super::{Format, ROWS_MAX};
use crate::{ImportError, Input};

pub(super) struct Oslat;

const NAME: &str = "oslat";
const UNIT_NS: u64 = 1_000;

impl Format for Oslat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn written_by(&self) -> &'static str {
        "oslat"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        let has = |text: &[u8]| head.windows(text.len()).any(|window| window == text);
        head.starts_with(b"oslat V") || (has(b"        Core:") && has(b" (us):"))
    }

    fn read(&self, input: Input) -> Result<Histograms, ImportError> {
        let mut lines = Lines::new(input, NAME);
        let mut line = String::new();
        let mut file = File::default();
        while lines.next(&mut line)? {
            if let Some(version) = line.strip_prefix("oslat V ") {
                version.trim().clone_into(&mut file.version);
            } else if let Some((title, values)) = line.split_once(':') {
                file.take(title.trim(), values.trim(), &lines)?;
            }
        }
        file.finish(&lines)
    }
}

#[derive(Default)]
struct File {
    version: String,
    policy: Option<(&'static str, u8)>,
    rows: Vec<Row>,
    filled: Filled,
    whole: bool,
}

impl File {
    fn take(&mut self, title: &str, values: &str, lines: &Lines) -> Result<(), ImportError> {
        match title {
            "Thread priority" => {
                let prio = values.strip_prefix("SCHED_FIFO:").and_then(|prio| prio.parse().ok());
                self.policy = prio.map(|prio| ("fifo", prio));
            }
            "Core" => {
                let cpus = lines.numbers(values)?;
                if cpus.len() > ROWS_MAX {
                    return Err(lines.broken(format!("{} CPUs", cpus.len())));
                }
                let row = |cpu: &u64| Row {
                    name: format!("CPU {cpu}"),
                    cpu: u32::try_from(*cpu).ok(),
                    ..Row::default()
                };
                self.rows = cpus.iter().map(row).collect();
            }
            "Minimum" => {
                for (at, ns) in self.times(values, lines)?.into_iter().enumerate() {
                    self.rows[at].min_ns = ns;
                }
            }
            "Maximum" => {
                for (at, ns) in self.times(values, lines)?.into_iter().enumerate() {
                    self.rows[at].max_ns = ns;
                }
                self.whole = true;
            }
            "Average" => {
                let words = self.words(values, lines)?;
                for (row, word) in self.rows.iter_mut().zip(words) {
                    row.mean_ns = lines.mean_ns(word, UNIT_NS)?;
                }
            }
            bin => {
                if let Some(bin) = bin.strip_suffix("(us)") {
                    // A bin is called by its upper edge.
                    let units = lines.number(bin.trim())?.saturating_sub(1);
                    let from_ns = lines.time_ns(units, UNIT_NS)?;
                    let words = self.words(values, lines)?;
                    for (row, word) in self.rows.iter_mut().zip(words) {
                        let count = lines.number(word)?;
                        self.filled.add(row, from_ns, count).map_err(|why| lines.broken(why))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A value for each row; what follows them in brackets is their unit.
    fn words<'a>(&self, values: &'a str, lines: &Lines) -> Result<Vec<&'a str>, ImportError> {
        let values = values.split('(').next().unwrap_or_default();
        let words: Vec<&str> = values.split_ascii_whitespace().collect();
        if words.len() != self.rows.len() {
            let what = format!("{} values for {} CPUs", words.len(), self.rows.len());
            return Err(lines.broken(what));
        }
        Ok(words)
    }

    fn times(&self, values: &str, lines: &Lines) -> Result<Vec<Option<u64>>, ImportError> {
        let time = |word: &&str| {
            if is_nothing(word) {
                return Ok(None);
            }
            lines.time_ns(lines.number(word)?, UNIT_NS).map(Some)
        };
        self.words(values, lines)?.iter().map(time).collect()
    }

    fn finish(mut self, lines: &Lines) -> Result<Histograms, ImportError> {
        if !self.whole {
            return Err(lines.missing("its line `Maximum:`"));
        }
        for row in &mut self.rows {
            row.policy = self.policy.map(|(policy, _)| policy);
            row.prio = self.policy.map(|(_, prio)| prio);
        }
        let mut histograms = Histograms {
            tool: NAME,
            version: self.version,
            unit_ns: UNIT_NS,
            bin_ns: UNIT_NS,
            rows: self.rows,
            ..Histograms::default()
        };
        settle(&mut histograms);
        Ok(histograms)
    }
}

/// Takes what is in the last bin as lying above the bins, where the maximum does.
pub(super) fn settle(histograms: &mut Histograms) {
    let bin_ns = histograms.bin_ns;
    for row in &mut histograms.rows {
        if let (Some(max_ns), Some(last)) = (row.max_ns, row.bins.last_entry())
            && last.key().saturating_add(bin_ns) < max_ns
        {
            row.over = last.remove();
        }
        let in_bins: u128 = row.bins.values().map(|count| u128::from(*count)).sum();
        row.count = u64::try_from(in_bins + u128::from(row.over)).unwrap_or(u64::MAX);
    }
    histograms.notes.push(
        "oslat counts every pass of its loop: percentiles are over all passes, not only over \
         interruptions"
            .to_owned(),
    );
}
