//! What simulated systems do to their threads, a row for each timer policy.

use crate::clean::clean_cut;
use crate::confidence::range;
use crate::text::{Align, Table, Terminal, WIDTH_MAX, WIDTH_MIN};
use crate::units::{count, duration, duration_mean};
use std::io::{self, Write};
use tardy_stats::{Latencies, Quantile};

const HEADS: [&str; 11] = [
    "condition",
    "policy",
    "thread",
    "n",
    "min",
    "mean",
    "p50",
    "p99 (95 % sure)",
    "p99.9 (95 % sure)",
    "max",
    "device writes",
];

/// A thread, or several that are alike, under a timer policy.
#[derive(Clone, Debug)]
pub struct SimulatedRow<'a> {
    /// The condition; empty where there is one alone.
    pub condition: &'a str,
    /// The policy.
    pub policy: &'a str,
    /// The thread.
    pub thread: &'a str,
    /// How late it was back from its sleeps.
    pub latencies: &'a Latencies,
    /// How often the clock-event devices of the whole system were programmed, per second of its time.
    pub programmed_per_s: f64,
}

/// Writes a line per row.
///
/// # Errors
/// Where `out` cannot be written.
pub fn simulated_text(
    rows: &[SimulatedRow<'_>],
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let width = terminal.width.clamp(WIDTH_MIN, WIDTH_MAX);
    let mut columns = vec![Align::Right; HEADS.len()];
    columns[..3].fill(Align::Left);
    let has_conditions = rows.iter().any(|row| !row.condition.is_empty());
    let first = usize::from(!has_conditions);
    let can_go = [10, 4, 6].map(|column| column - first);
    let mut table = Table::new(&columns[first..]).can_do_without(&can_go);
    table.row(HEADS[first..].iter().map(|head| (*head).to_owned()).collect());
    for row in rows {
        let SimulatedRow { condition, policy, thread, latencies, programmed_per_s } = row;
        let cells = vec![
            clean_cut(condition, 24),
            clean_cut(policy, 28),
            clean_cut(thread, 16),
            count(latencies.count()),
            duration(latencies.min_ns()),
            duration_mean(latencies.mean_ns()),
            duration(latencies.quantile_ns(0.5)),
            with_interval(latencies.quantile(0.99)),
            with_interval(latencies.quantile(0.999)),
            duration(latencies.max_ns()),
            format!("{}/s", count(programmed_per_s.round() as u64)),
        ];
        table.row(cells[first..].to_vec());
    }
    table.write(
        out,
        width,
        |row, _, text| {
            if row == 0 { terminal.dim(text) } else { text.to_owned() }
        },
    )?;
    let taken = "Intervals assume independent samples. They describe the uncertainty of the \
                 simulation's own figures, not how well it models the machine.";
    for line in textwrap::wrap(taken, width - 2) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

fn with_interval(quantile: Quantile) -> String {
    let Quantile { ns, low_ns, high_ns } = quantile;
    match (low_ns, high_ns) {
        (Some(low_ns), Some(high_ns)) => format!("{} ({})", duration(ns), range(low_ns, high_ns)),
        (Some(low_ns), None) => format!("{} ({}–…)", duration(ns), duration(low_ns)),
        _ => format!("{} (…)", duration(ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_a_reader_sees_it() {
        let mut latencies = Latencies::default();
        (0..10_000).for_each(|at| latencies.record(5_000 + at));
        let row = |policy, thread| SimulatedRow {
            condition: "",
            policy,
            thread,
            latencies: &latencies,
            programmed_per_s: 42_123.4,
        };
        let rows = [row("hardirq", "cyclic"), row("deferred", "\u{1b}[2Jcyclic")];
        for (width, writes) in [(140, true), (80, false)] {
            let mut out = Vec::new();
            simulated_text(&rows, Terminal { width, colour: false }, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.contains("10,000") && text.contains("14.9 µs (14.9–14.9 µs)"), "{text}");
            assert_eq!(text.contains("42,123/s"), writes, "{text}");
            assert!(!text.contains('\u{1b}'));
        }
    }
}
