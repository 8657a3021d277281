//! A comparison of ways to move a timeout, as text.

use crate::text::{Align, Table, Terminal, WIDTH_MAX, WIDTH_MIN};
use crate::units::{count, counted, duration};
use std::io::{self, Write};
use tardy_lab::rearm::{Pace, RearmMeasurement, RearmMethod};

/// What no source tells, and must not be taken for 0.
pub(crate) const DEVICE: &str = "How many moves programmed the clock-event device is not seen: no \
    event that is recorded tells it. Kernel timers are those that system calls asked for.";

/// Writes a comparison of moved timeouts as text.
///
/// # Errors
/// Where `out` cannot be written.
pub fn rearm_text(
    measurement: &RearmMeasurement,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let terminal = Terminal { width: terminal.width.clamp(WIDTH_MIN, WIDTH_MAX), ..terminal };
    let m = measurement;
    let head =
        format!("A timeout of {}, moved every {}", duration(m.timeout_ns), duration(m.every_ns));
    writeln!(out, "{}", terminal.bold(&head))?;
    let pace = match m.pace {
        Pace::Spin => "the moving thread spins between moves",
        Pace::Sleep => "the moving thread sleeps between moves",
    };
    let facts = format!(
        "methods in turns in random order (seed {}) · {pace} · waiting threads with a slack of 1 ns · \
         a move's time holds one reading of the clock, {}",
        m.seed,
        duration(m.clock_ns)
    );
    for line in textwrap::wrap(&facts, terminal.width) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)?;
    moves(m, terminal, out)?;
    writeln!(out)?;
    timeouts(m, terminal, out)?;
    writeln!(out)?;
    let wrong = m.methods.iter().filter_map(wrong).map(|sentence| (true, sentence));
    for (is_wrong, sentence) in wrong.chain([(false, DEVICE.to_owned())]) {
        for line in textwrap::wrap(&sentence, terminal.width) {
            writeln!(out, "{}", if is_wrong { terminal.warn(&line) } else { line.into_owned() })?;
        }
    }
    Ok(())
}

fn moves(m: &RearmMeasurement, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let heads =
        ["", "moves", "ns/move", "p50", "p99", "kernel timers/move", "waiter's CPU ns/move"];
    let rows = m.methods.iter().map(|method| {
        let call = &method.call;
        vec![
            method.name.to_owned(),
            count(method.moves),
            format!("{:.0}", call.mean_ns()),
            count(call.quantile_ns(0.5)),
            count(call.quantile_ns(0.99)),
            format!("{:.3}", per_move(method, method.kernel_timers)),
            format!("{:.0}", per_move(method, method.waiter_cpu_ns)),
        ]
    });
    table(&heads, rows, terminal, out)
}

fn timeouts(m: &RearmMeasurement, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let heads = ["", "due", "delivered", "late moves", "missed", "late by", "p50", "p99", "max"];
    let rows = m.methods.iter().map(|method| {
        let lateness = &method.lateness;
        vec![
            method.name.to_owned(),
            count(method.pauses),
            count(lateness.count()),
            count(method.late_moves),
            count(method.missed),
            duration(lateness.mean_ns() as u64),
            duration(lateness.quantile_ns(0.5)),
            duration(lateness.quantile_ns(0.99)),
            duration(lateness.max_ns()),
        ]
    });
    table(&heads, rows, terminal, out)
}

fn table(
    heads: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut columns = vec![Align::Left];
    columns.resize(heads.len(), Align::Right);
    let mut table = Table::new(&columns).can_do_without(&[3, 4, 1]);
    table.row(heads.iter().map(|&head| head.to_owned()).collect());
    rows.for_each(|row| table.row(row));
    table.write(
        out,
        terminal.width,
        |row, _, text| {
            if row == 0 { terminal.dim(text) } else { text.to_owned() }
        },
    )
}

pub(crate) fn per_move(method: &RearmMethod, all: u64) -> f64 {
    all as f64 / method.moves.max(1) as f64
}

/// Said only where it is so: delivered = expected needs no words.
fn wrong(method: &RearmMethod) -> Option<String> {
    (!method.delivered_as_expected()).then(|| {
        format!(
            "{}: {} delivered and {} missed, where {} to {} were to come. This must not be.",
            method.name,
            counted(method.lateness.count(), "timeout"),
            count(method.missed),
            count(method.pauses),
            count(method.pauses + method.late_moves)
        )
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use tardy_stats::Latencies;

    pub(crate) fn measurement() -> RearmMeasurement {
        let spread = |from: u64, n: u64| {
            let mut latencies = Latencies::default();
            (0..n).for_each(|at| latencies.record(from + at));
            latencies
        };
        let method = |name, call_ns, kernel_timers, missed| RearmMethod {
            name,
            summary: "a way",
            moves: 1_000,
            call: spread(call_ns, 1_000),
            late_moves: 2,
            kernel_timers,
            pauses: 10,
            missed,
            lateness: spread(20_000, 11 - missed),
            waiter_cpu_ns: 500_000,
        };
        RearmMeasurement {
            timeout_ns: 300_000,
            every_ns: 20_000,
            pace: Pace::Spin,
            seed: 1,
            clock_ns: 40,
            methods: vec![method("timerfd", 600, 1_000, 0), method("futex, lazy", 50, 75, 3)],
        }
    }

    #[test]
    fn as_a_reader_sees_it() {
        let mut out = Vec::new();
        rearm_text(&measurement(), Terminal::default(), &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
