//! `tardy.measure/1`, of a file of histograms.

use super::quantiles::QuantileDocument;
use super::tail::TailDocument;
use crate::confidence::Distribution;
use serde::Serialize;
use tardy_import::histogram::{Histograms, Row};

/// Rows whose tail is told: each takes some hundredths of a second.
const TAILS_MAX: usize = 256;

/// A measurement that another tool made: `report FILE --json`. The form is that of `measure --json`;
/// what the file does not tell is `null`. A percentile is the upper edge of its bin, at most the
/// maximum, and `null` where it lies above the bins.
#[derive(Debug, Serialize)]
pub struct HistogramsDocument<'a> {
    schema: &'static str,
    /// One per row of the file.
    pub threads: Vec<HistogramDocument<'a>>,
    /// As in `measure --json`; no such file tells of a bound.
    broken_by: Option<()>,
    /// What a reader must know besides.
    pub notes: &'a [String],
    /// The tool that wrote the file.
    tool: &'static str,
    tool_version: Option<&'a str>,
    tool_command_line: Option<&'a str>,
    /// The width of each bin.
    bin_ns: u64,
}

/// One row.
#[derive(Debug, Serialize)]
pub struct HistogramDocument<'a> {
    name: &'a str,
    pid: Option<u32>,
    policy: Option<&'static str>,
    prio: Option<u8>,
    cpu: Option<u32>,
    interval_ns: Option<u64>,
    samples: u64,
    min_ns: Option<u64>,
    mean_ns: Option<f64>,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    p999_ns: Option<u64>,
    p9999_ns: Option<u64>,
    max_ns: Option<u64>,
    overruns: Option<u64>,
    /// How many lay above the bins.
    over_bins: u64,
    quantiles: Vec<QuantileDocument>,
    /// `null` in all rows but the first [`TAILS_MAX`].
    tail: Option<TailDocument>,
}

impl<'a> From<&'a Histograms> for HistogramsDocument<'a> {
    fn from(histograms: &'a Histograms) -> Self {
        let told = |text: &'a str| (!text.is_empty()).then_some(text);
        let one = |(place, row): (usize, &'a Row)| {
            HistogramDocument::new(row, histograms.bin_ns, place < TAILS_MAX)
        };
        Self {
            schema: "tardy.measure/1",
            threads: histograms.rows.iter().enumerate().map(one).collect(),
            broken_by: None,
            notes: &histograms.notes,
            tool: histograms.tool,
            tool_version: told(&histograms.version),
            tool_command_line: told(&histograms.command_line),
            bin_ns: histograms.bin_ns,
        }
    }
}

impl<'a> HistogramDocument<'a> {
    fn new(row: &'a Row, bin_ns: u64, has_tail: bool) -> Self {
        let distribution = Distribution::of_row(row, bin_ns);
        Self {
            name: &row.name,
            pid: row.pid,
            policy: row.policy,
            prio: row.prio,
            cpu: row.cpu,
            interval_ns: row.interval_ns,
            samples: row.count,
            min_ns: row.min_ns,
            mean_ns: row.mean_ns,
            p50_ns: row.quantile_ns(5_000, bin_ns),
            p99_ns: row.quantile_ns(9_900, bin_ns),
            p999_ns: row.quantile_ns(9_990, bin_ns),
            p9999_ns: row.quantile_ns(9_999, bin_ns),
            max_ns: row.max_ns,
            overruns: None,
            over_bins: row.over,
            quantiles: QuantileDocument::all(&distribution),
            tail: has_tail.then(|| TailDocument::new(&distribution)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histograms::tests::histograms;

    #[test]
    fn histograms_document() {
        let histograms = histograms();
        let document = HistogramsDocument::from(&histograms);
        insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
    }
}
