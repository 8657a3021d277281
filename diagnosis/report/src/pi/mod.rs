//! A measurement of a lock as text: what was done, figures, and what they mean in sentences.

mod sentences;

use crate::text::{Align, Table, Terminal};
use crate::units::{count, duration};
pub use sentences::pi_sentences;
use std::io::{self, Write};
use tardy_lab::Policy;
use tardy_lab::pi::{LockProtocol, PiMeasurement};
use tardy_stats::Latencies;

/// What a recording told of High's lock calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoostsSeen {
    /// Lock calls of High that went to the kernel while it was measured.
    pub calls: u64,
    /// Those of them in which it slept; in the others the kernel spun, or found the lock free.
    pub slept: u64,
    /// How long they took, from the kernel's entry to its exit.
    pub latencies: Vec<(&'static str, u64)>,
    /// How many of them lent High's priority so many times, fewest first; none is empty.
    pub by_boosts: Vec<(u64, u64)>,
    /// Those in which one owner was boosted twice though it had begun to unlock (`double_pi_boost`).
    pub double: u64,
    /// What that pattern says, where there are any.
    pub double_words: Option<String>,
    /// The longest of those: when it began, and how long it took, ns.
    pub worst_double: Option<(u64, u64)>,
    /// Calls of which lost events may hide a part.
    pub touched_by_loss: u64,
    /// Why the numbers may be wrong, a sentence each.
    pub notes: Vec<String>,
}

/// Writes a measurement of a lock as text. `boosts`: what was recorded of the kernel's part in it, or
/// why that was not.
///
/// # Errors
/// Where `out` cannot be written.
pub fn pi_text(
    measurement: &PiMeasurement,
    boosts: &Result<BoostsSeen, String>,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let terminal = terminal.clamped();
    let m = measurement;
    let robust = if m.robust { "robust " } else { "" };
    let protocol = match m.protocol {
        LockProtocol::None => "without a protocol".to_owned(),
        LockProtocol::Inherit => "with priority inheritance".to_owned(),
        LockProtocol::Protect => format!("with a priority ceiling of {}", m.prio),
    };
    let head = format!("A {robust}lock {protocol}, High and Busy on CPU {}", m.cpu);
    writeln!(out, "{}", terminal.bold(&head))?;
    for line in textwrap::wrap(&conditions(m), terminal.width) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)?;
    figures(m, terminal, out)?;
    writeln!(out)?;
    for sentence in pi_sentences(m, boosts) {
        let options = textwrap::Options::new(terminal.width).subsequent_indent("  ");
        for line in textwrap::wrap(&sentence, options) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// What a reader must know of how the numbers came about.
fn conditions(m: &PiMeasurement) -> String {
    let low = match m.low_policy {
        Policy::Other => "without a real-time priority".to_owned(),
        policy => format!("{} {}", policy.kernel_name(), m.low_prio),
    };
    [
        format!("{} rounds, {} before them discarded", count(m.jitter.count()), m.training_rounds),
        format!(
            "High SCHED_FIFO {}, Busy {}, Low {low} on any of {} CPUs",
            m.prio,
            m.prio - 1,
            m.cpus
        ),
        format!(
            "busy for {} ns with the lock and {} ns without",
            count(m.locked.asked_ns),
            count(m.free.asked_ns)
        ),
        format!("a reading of the clock, {}, is within each figure", duration(m.clock_ns)),
    ]
    .join(" · ")
}

fn figures(m: &PiMeasurement, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let heads = ["", "n", "min", "mean", "p50", "p99", "p99.9", "p99.99", "max"];
    let mut columns = vec![Align::Left];
    columns.resize(heads.len(), Align::Right);
    let mut table = Table::new(&columns).can_do_without(&[6, 3, 4]);
    table.row(heads.map(str::to_owned).into());
    let row = |name: &str, latencies: &Latencies| {
        let quantile = |q| fine(latencies.quantile_ns(q));
        vec![
            name.to_owned(),
            count(latencies.count()),
            fine(latencies.min_ns()),
            fine(latencies.mean_ns().round() as u64),
            quantile(0.5),
            quantile(0.99),
            quantile(0.999),
            quantile(0.9999),
            fine(latencies.max_ns()),
        ]
    };
    table.row(row("time to lock", &m.to_lock));
    table.row(row("round less loads", &m.jitter));
    table.row(row("load with the lock", &m.locked.real));
    table.row(row("load without", &m.free.real));
    table.write(
        out,
        terminal.width,
        |row, _, text| {
            if row == 0 { terminal.dim(text) } else { text.to_owned() }
        },
    )
}

/// To the ns below 10 µs, where a microsecond's tenth would hide how long a load is.
fn fine(ns: u64) -> String {
    if ns < 10_000 { format!("{} ns", count(ns)) } else { duration(ns) }
}

#[cfg(test)]
pub(crate) mod fixture;

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    fn text(boosts: &Result<BoostsSeen, String>, width: usize) -> String {
        let mut out = Vec::new();
        let terminal = Terminal { width, colour: false };
        pi_text(&fixture::measurement(), boosts, terminal, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn as_a_reader_sees_it() {
        insta::assert_snapshot!(text(&Ok(fixture::seen()), 100));
    }

    #[test]
    fn without_a_recording_it_says_how_to_get_one_and_no_line_is_too_wide() {
        for width in [60, 80, 140] {
            let text = text(&Err("nothing was recorded; --record DIR does".to_owned()), width);
            assert!(text.contains("--record DIR"), "{text}");
            for line in text.lines() {
                assert!(line.width() <= width, "{width}: {line}");
            }
        }
    }
}
