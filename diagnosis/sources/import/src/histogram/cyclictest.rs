//! Histograms as cyclictest writes them with `-h` or `-H`, to a `--histfile` or to standard output.
//!
//! One line per unit of time (µs, or ns with `-N`), one column per thread, with `-H` one more with
//! the sum; after them totals, minima, means, maxima and overflows, in lines that begin with `#`. The
//! file does not say whether `-N` was given; its times are taken as µs. Its means are cut to whole units,
//! and those of the bins are not: they count where no sample lies above the bins.

use super::lines::{Lines, unquoted};
use super::row::{Filled, Histograms, Row};
use super::{Format, ROWS_MAX};
use crate::{ImportError, Input};

pub(super) struct Cyclictest;

const NAME: &str = "cyclictest";
const UNIT_NS: u64 = 1_000;

/// The most bins that cyclictest has (`HIST_MAX`).
const BINS_MAX: u64 = 1_000_000;

/// More bins of µs than anybody asks for; of ns they are few.
const MICROSECONDS_MAX: u64 = 10_000;

impl Format for Cyclictest {
    fn name(&self) -> &'static str {
        NAME
    }

    fn written_by(&self) -> &'static str {
        "cyclictest -h"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        let mut lines = head.split(|byte| *byte == b'\n').map(unquoted);
        // A program that is not quiet writes other lines first.
        lines.any(|line| line.trim_ascii() == b"# Histogram")
            && lines.next().is_some_and(|line| line.first().is_some_and(u8::is_ascii_digit))
    }

    fn read(&self, input: Input) -> Result<Histograms, ImportError> {
        let mut lines = Lines::new(input, NAME);
        let mut line = String::new();
        let mut file = File::default();
        while lines.next(&mut line)? {
            if line.trim() == "# Histogram" {
                break;
            }
            file.before(&line);
        }
        while lines.next(&mut line)? && file.take(&line, &lines)? == Goes::On {}
        file.finish(&lines)
    }
}

#[derive(PartialEq, Eq)]
enum Goes {
    On,
    ToItsEnd,
}

/// What has been read so far.
#[derive(Default)]
struct File {
    /// Threads, and the column of sums where there is one.
    columns: Vec<Row>,
    filled: Filled,
    lines: u64,
    total: Option<Vec<u64>>,
    min: Option<Vec<u64>>,
    avg: Option<Vec<u64>>,
    max: Option<Vec<u64>>,
    over: Option<Vec<u64>>,
    /// By the thread's number: what cyclictest shows of it while it runs.
    shown: Vec<Shown>,
}

#[derive(Clone, Copy, Default)]
struct Shown {
    pid: Option<u32>,
    prio: Option<u8>,
    interval_ns: Option<u64>,
}

impl File {
    /// A line before the histogram: `T: 0 ( 4101) P:80 I:1000 C: …`, perhaps after an escape sequence
    /// that moves the cursor.
    fn before(&mut self, line: &str) {
        let Some((_, thread)) = line.split_once("T:") else { return };
        let mut parts = thread.split(['(', ')']);
        let number = parts.next().and_then(|number| number.trim().parse::<usize>().ok());
        let pid = parts.next().and_then(|pid| pid.trim().parse().ok());
        let (Some(number), Some(pid)) = (number.filter(|number| *number < ROWS_MAX), pid) else {
            return;
        };
        let rest = parts.next().unwrap_or_default();
        let after = |key: &str| rest.split_once(key)?.1.split_whitespace().next();
        if number >= self.shown.len() {
            self.shown.resize(number + 1, Shown::default());
        }
        let us = after("I:").and_then(|us| us.parse::<u64>().ok());
        self.shown[number] = Shown {
            pid: Some(pid),
            prio: after("P:").and_then(|prio| prio.parse().ok()),
            interval_ns: us.and_then(|us| us.checked_mul(UNIT_NS)),
        };
    }

    fn take(&mut self, line: &str, lines: &Lines) -> Result<Goes, ImportError> {
        let text = line.trim();
        if let Some(comment) = text.strip_prefix('#') {
            let Some((title, values)) = comment.trim_start().split_once(':') else {
                return Ok(Goes::On);
            };
            let place = match title {
                "Total" => &mut self.total,
                "Min Latencies" => &mut self.min,
                "Avg Latencies" => &mut self.avg,
                "Max Latencies" => &mut self.max,
                "Histogram Overflows" => &mut self.over,
                // After it only cycle numbers, as many as there are; nothing that is read here.
                "Histogram Overflow at cycle number" => return Ok(Goes::ToItsEnd),
                _ => return Ok(Goes::On),
            };
            *place = Some(lines.numbers(values)?);
        } else if !text.is_empty() {
            self.bin(&lines.numbers(text)?, lines)?;
        }
        Ok(Goes::On)
    }

    fn bin(&mut self, numbers: &[u64], lines: &Lines) -> Result<(), ImportError> {
        let Some((bin, counts)) = numbers.split_first() else { return Ok(()) };
        if *bin != self.lines || self.lines >= BINS_MAX {
            return Err(lines.broken(format!("bin {bin} where {} was due", self.lines)));
        }
        if self.lines == 0 {
            if counts.is_empty() || counts.len() > ROWS_MAX {
                return Err(lines.broken(format!("{} threads", counts.len())));
            }
            self.columns.resize(counts.len(), Row::default());
        }
        if counts.len() != self.columns.len() {
            let what = format!("{} columns, others have {}", counts.len(), self.columns.len());
            return Err(lines.broken(what));
        }
        let from_ns = lines.time_ns(*bin, UNIT_NS)?;
        for (column, count) in self.columns.iter_mut().zip(counts) {
            self.filled.add(column, from_ns, *count).map_err(|why| lines.broken(why))?;
        }
        self.lines += 1;
        Ok(())
    }

    fn finish(mut self, lines: &Lines) -> Result<Histograms, ImportError> {
        let min = self.min.ok_or_else(|| lines.missing("`# Min Latencies:`"))?;
        let avg = self.avg.ok_or_else(|| lines.missing("`# Avg Latencies:`"))?;
        let max = self.max.ok_or_else(|| lines.missing("`# Max Latencies:`"))?;
        let over = self.over.ok_or_else(|| lines.missing("`# Histogram Overflows:`"))?;
        let threads = min.len();
        // A column of sums stands after the threads in the bins, the maxima and the overflows.
        let fits = |len: usize| len == threads || len == threads + 1;
        let widths = [self.columns.len(), max.len(), over.len()];
        if avg.len() != threads || !widths.into_iter().all(fits) {
            let what = format!("{threads} threads by their minima, another number elsewhere");
            return Err(lines.broken(what));
        }
        self.columns.truncate(threads);
        let (mut notes, mut above) = (Vec::new(), 0u64);
        for (number, row) in self.columns.iter_mut().enumerate() {
            let shown = self.shown.get(number).copied().unwrap_or_default();
            let in_bins: u128 = row.bins.values().map(|count| u128::from(*count)).sum();
            row.name = format!("thread {number}");
            (row.pid, row.prio, row.interval_ns) = (shown.pid, shown.prio, shown.interval_ns);
            row.over = over[number];
            row.count = u64::try_from(in_bins + u128::from(row.over)).unwrap_or(u64::MAX);
            if row.count > 0 {
                row.min_ns = Some(lines.time_ns(min[number], UNIT_NS)?);
                // The file's own mean is cut to a whole unit.
                row.mean_ns = Some(if row.over == 0 && in_bins > 0 {
                    mean_of_bins(row)
                } else {
                    (avg[number] as f64) * UNIT_NS as f64
                });
                above = above.saturating_add(row.over);
                row.max_ns = Some(lines.time_ns(max[number], UNIT_NS)?);
            }
            let total = self.total.as_ref().and_then(|total| total.get(number));
            if let Some(total) = total.filter(|total| u128::from(**total) != in_bins) {
                notes.push(format!(
                    "{}: the file's total is {total}, its bins hold {in_bins}",
                    row.name
                ));
            }
        }
        if above > 0 {
            notes.push(
                "means of threads with samples above the bins are cut to whole µs, as in the file"
                    .to_owned(),
            );
        }
        if self.lines > MICROSECONDS_MAX {
            notes.push(
                "times are read as µs: cyclictest -N counts in ns, but its file does not say so"
                    .to_owned(),
            );
        }
        Ok(Histograms {
            tool: "cyclictest",
            unit_ns: UNIT_NS,
            bin_ns: UNIT_NS,
            rows: self.columns,
            notes,
            ..Histograms::default()
        })
    }
}

/// The mean of samples as cyclictest takes them, in whole units.
fn mean_of_bins(row: &Row) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (from_ns, of_bin) in &row.bins {
        sum += *from_ns as f64 * *of_bin as f64;
        count += *of_bin as f64;
    }
    sum / count
}
