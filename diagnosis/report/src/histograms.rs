//! The figures of a file of histograms that another tool wrote.

use crate::clean::clean_cut;
use crate::confidence::{
    Distribution, QUANTILES, QuantileInterval, range, sentence as tail_sentence,
};
use crate::text::{Align, Table, Terminal};
use crate::units::{count, duration, duration_mean};
use std::io::{self, Write};
use tardy_import::histogram::{Histograms, Row};

const HEADS: [&str; 10] =
    ["name", "CPU", "samples", "min", "mean", "p50", "p99", "p99.9", "p99.99", "max"];

/// What a cell shows where the file does not tell.
const UNKNOWN: &str = "-";

/// Rows whose tail is told: those with the latest ones. `--json` tells all.
const TAILS_MAX: usize = 8;

/// Writes a line per row of the file: how many samples, what they were, how sure the far quantiles
/// are; and what may still come.
///
/// # Errors
/// Where `out` cannot be written.
pub fn histograms_text(
    histograms: &Histograms,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let terminal = terminal.clamped();
    let version = clean_cut(&histograms.version, 16);
    let title = format!("Measured by {} {version}", histograms.tool);
    writeln!(out, "{}", terminal.bold(title.trim_end()))?;
    if histograms.rows.is_empty() {
        writeln!(out, "  the file has no sample")?;
    } else {
        let mut columns = vec![Align::Left];
        columns.resize(HEADS.len(), Align::Right);
        let mut table = Table::new(&columns).can_do_without(&[1, 5, 7, 3]);
        table.row(HEADS.map(str::to_owned).into());
        for row in &histograms.rows {
            table.row(cells(row, histograms.bin_ns));
        }
        table.write(out, terminal.width, |row, _, text| {
            if row == 0 { terminal.dim(text) } else { text.to_owned() }
        })?;
        let bins = format!(
            "Percentiles are the upper edges of bins of {}, and no more than the maximum.",
            duration(histograms.bin_ns)
        );
        sentence(out, terminal, &bins)?;
    }
    if histograms.rows.iter().any(|row| row.over > 0) {
        let over: u128 = histograms.rows.iter().map(|row| u128::from(row.over)).sum();
        let over = count(u64::try_from(over).unwrap_or(u64::MAX));
        let text =
            format!("{over} of all samples lie above the bins; a percentile there is \">\".");
        sentence(out, terminal, &text)?;
    }
    if histograms.rows.iter().any(|row| row.binned() > 0) {
        confidence(histograms, terminal, out)?;
    }
    for note in &histograms.notes {
        sentence(out, terminal, &clean_cut(note, 400))?;
    }
    Ok(())
}

/// Far quantiles with their intervals, and a sentence on each tail.
fn confidence(histograms: &Histograms, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let mut rows: Vec<&Row> = histograms.rows.iter().filter(|row| row.binned() > 0).collect();
    let mut table = Table::new(&[Align::Left; QUANTILES.len() + 1]).can_do_without(&[1]);
    let mut heads = vec!["name".to_owned()];
    heads.extend(QUANTILES.map(|(name, _)| format!("{name} (95 % sure)")));
    table.row(heads);
    for row in &rows {
        let mut cells = vec![clean_cut(&row.name, 16)];
        let interval = Distribution::of_row(row, histograms.bin_ns).quantiles();
        cells.extend(interval.iter().map(with_interval));
        table.row(cells);
    }
    writeln!(out)?;
    table.write(out, terminal.width, |row, _, text| {
        if row == 0 { terminal.dim(text) } else { text.to_owned() }
    })?;
    let taken = "An interval contains the true quantile with 95 % probability if samples are \
                 independent; the file does not show whether they are. \"…\" is an end that too \
                 few samples bound.";
    sentence(out, terminal, taken)?;
    writeln!(out)?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.max_ns));
    for row in rows.iter().take(TAILS_MAX) {
        let beyond = Distribution::of_row(row, histograms.bin_ns).beyond();
        let text = format!("{}: {}", clean_cut(&row.name, 16), tail_sentence(&beyond));
        sentence(out, terminal, &text)?;
    }
    if rows.len() > TAILS_MAX {
        let more = rows.len() - TAILS_MAX;
        sentence(out, terminal, &format!("{more} more with --json."))?;
    }
    Ok(())
}

/// `67.0 µs (66.0–67.0 µs)`.
fn with_interval(interval: &QuantileInterval) -> String {
    let ns = interval.ns.map_or_else(|| "above".to_owned(), duration);
    let range = match (interval.low_ns, interval.high_ns) {
        (Some(low_ns), Some(high_ns)) => range(low_ns, high_ns),
        (Some(low_ns), None) => format!("{}–…", duration(low_ns)),
        (None, Some(high_ns)) => format!("…–{}", duration(high_ns)),
        (None, None) => "…".to_owned(),
    };
    format!("{ns} ({range})")
}

fn sentence(out: &mut dyn Write, terminal: Terminal, text: &str) -> io::Result<()> {
    for line in textwrap::wrap(text, terminal.width - 2) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

fn cells(row: &Row, bin_ns: u64) -> Vec<String> {
    let time = |ns: Option<u64>| ns.map_or_else(|| UNKNOWN.to_owned(), duration);
    let top_ns = row.end_ns(bin_ns);
    let quantile = |of_10_000| match (row.quantile_ns(of_10_000, bin_ns), top_ns) {
        (Some(ns), _) => duration(ns),
        (None, Some(top_ns)) => format!(">{}", duration(top_ns)),
        (None, None) => UNKNOWN.to_owned(),
    };
    vec![
        clean_cut(&row.name, 16),
        row.cpu.map_or_else(|| UNKNOWN.to_owned(), |cpu| cpu.to_string()),
        count(row.count),
        time(row.min_ns),
        row.mean_ns.map_or_else(|| UNKNOWN.to_owned(), duration_mean),
        quantile(5_000),
        quantile(9_900),
        quantile(9_990),
        quantile(9_999),
        time(row.max_ns),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::text::{WIDTH_MAX, WIDTH_MIN};
    use unicode_width::UnicodeWidthStr as _;

    /// One row with all in its bins, one with some above, one with nothing.
    pub(crate) fn histograms() -> Histograms {
        let row = |name: &str, bins: &[(u64, u64)], over| Row {
            name: name.to_owned(),
            bins: bins.iter().copied().collect(),
            count: bins.iter().map(|(_, count)| count).sum::<u64>() + over,
            over,
            ..Row::default()
        };
        Histograms {
            tool: "rtla timerlat hist",
            unit_ns: 1_000,
            bin_ns: 10_000,
            rows: vec![
                Row {
                    cpu: Some(0),
                    min_ns: Some(3_000),
                    mean_ns: Some(14_300.0),
                    max_ns: Some(57_000),
                    ..row("IRQ-000", &[(0, 400), (10_000, 9_598), (30_000, 1), (50_000, 1)], 0)
                },
                Row {
                    cpu: Some(0),
                    min_ns: Some(12_000),
                    max_ns: Some(2_345_000),
                    ..row("Thr-\u{1b}[2J000", &[(10_000, 80), (20_000, 18)], 2)
                },
                row("Usr-000", &[], 0),
            ],
            notes: vec!["Thr-000: the tool counts 7 samples, its bins hold 100".to_owned()],
            ..Histograms::default()
        }
    }

    fn text(width: usize) -> String {
        let mut out = Vec::new();
        histograms_text(&histograms(), Terminal { width, colour: false }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn as_a_reader_sees_it() {
        insta::assert_snapshot!(text(100));
    }

    #[test]
    fn it_fits_and_holds_no_foreign_escape() {
        for asked in [0, 60, 80, 500] {
            let text = text(asked);
            let width = asked.clamp(WIDTH_MIN, WIDTH_MAX);
            assert!(!text.contains('\u{1b}'));
            for line in text.lines() {
                assert!(line.width() <= width, "{} > {width}: {line}", line.width());
            }
        }
    }

    #[test]
    fn without_a_row_it_says_so() {
        let mut out = Vec::new();
        histograms_text(&Histograms::default(), Terminal::default(), &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("no sample"));
    }
}
