//! A comparison of ways to move a timeout, as text.

use crate::text::{Align, Table, Terminal};
use crate::units::{count, counted, duration};
use std::io::{self, Write};
use tardy_lab::rearm::{Pace, RearmMeasurement, RearmMethod};

/// What was seen of the clock-event devices while the methods moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSeen {
    /// One per method, in the measurement's order.
    pub methods: Vec<DeviceUse>,
    /// Why the numbers may be wrong, a sentence each.
    pub notes: Vec<String>,
}

/// What was seen while one method had its turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceUse {
    /// How often the timeout was moved meanwhile.
    pub moves: u64,
    /// How long these turns took together.
    pub ns: u64,
    /// How often a device was programmed for the method's timers: armed, cancelled, or expired.
    pub programmed: u64,
    /// How often any device of the machine was programmed, for whatever reason.
    pub programmed_by_all: u64,
}

impl DeviceUse {
    /// Programmings by the method's timers, per move; 0 without moves.
    pub fn per_move(&self) -> f64 {
        self.programmed as f64 / self.moves.max(1) as f64
    }

    /// Programmings on the whole machine, per second; 0 where there was no time.
    pub fn all_per_second(&self) -> f64 {
        self.programmed_by_all as f64 * 1e9 / self.ns.max(1) as f64
    }
}

const PROGRAMMED: &str = "Programmed: how often a clock-event device was programmed for the \
    method's timers: armed, cancelled, expired; machine/s counts all CPUs and reasons. Counted \
    from timer events in a separate stretch of moves, because recording makes each move slower.";

const KERNEL_TIMERS: &str = "Kernel timers are those armed by system calls.";

/// Writes a comparison of moved timeouts as text. `device`: what was seen of the clock-event devices,
/// or why they were not.
///
/// # Errors
/// Where `out` cannot be written.
pub fn rearm_text(
    measurement: &RearmMeasurement,
    device: &Result<DeviceSeen, String>,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let terminal = terminal.clamped();
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
    if let Ok(seen) = device {
        programmed(m, seen, terminal, out)?;
        writeln!(out)?;
    }
    let wrong = m.methods.iter().filter_map(wrong).map(|sentence| (true, sentence));
    let mut facts = vec![(false, KERNEL_TIMERS.to_owned())];
    match device {
        Ok(seen) => {
            facts.push((false, PROGRAMMED.to_owned()));
            facts.extend(seen.notes.iter().map(|note| (true, note.clone())));
        }
        Err(why) => {
            let sentence =
                format!("How often a clock-event device was programmed is not known: {why}");
            facts.push((true, sentence));
        }
    }
    for (is_wrong, sentence) in wrong.chain(facts) {
        for line in textwrap::wrap(&sentence, terminal.width) {
            writeln!(out, "{}", if is_wrong { terminal.warn(&line) } else { line.into_owned() })?;
        }
    }
    Ok(())
}

fn moves(m: &RearmMeasurement, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let heads = [
        "",
        "moves",
        "ns/move",
        "p50",
        "p99",
        "kernel timers/move",
        "CPU ns/move",
        "waiter's CPU ns/move",
    ];
    let rows = m.methods.iter().map(|method| {
        let call = &method.call;
        vec![
            method.name.to_owned(),
            count(method.moves),
            format!("{:.0}", call.mean_ns()),
            count(call.quantile_ns(0.5)),
            count(call.quantile_ns(0.99)),
            method
                .kernel_timers
                .map_or("–".to_owned(), |timers| format!("{:.3}", per_move(method, timers))),
            format!("{:.0}", method.mover_cpu.mean_ns()),
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

fn programmed(
    m: &RearmMeasurement,
    seen: &DeviceSeen,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let heads = ["", "moves recorded", "programmed", "programmed/move", "machine/s"];
    let rows = m.methods.iter().zip(&seen.methods).map(|(method, used)| {
        vec![
            method.name.to_owned(),
            count(used.moves),
            count(used.programmed),
            format!("{:.3}", used.per_move()),
            format!("{:.0}", used.all_per_second()),
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
    let mut table = Table::new(&columns).can_do_without(&[3, 1, 4]);
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
            "{}: {} delivered and {} missed, but {} to {} were expected. This must not happen.",
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
    use tardy_lab::rearm::MoverCpu;
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
            mover_cpu: MoverCpu {
                samples: 125,
                ns: 125 * (call_ns + 400),
                nothings: 100,
                nothing_ns: 100 * 430,
            },
            pauses: 10,
            missed,
            lateness: spread(20_000, 11 - missed),
            waiter_cpu_ns: 500_000,
            waiter: 8,
            turns: vec![],
        };
        RearmMeasurement {
            timeout_ns: 300_000,
            every_ns: 20_000,
            pace: Pace::Spin,
            seed: 1,
            clock_ns: 40,
            mover: 7,
            methods: vec![
                method("timerfd", 600, Some(1_000), 0),
                method("futex, lazy", 50, Some(75), 3),
                method("service, precise", 60, None, 0),
            ],
        }
    }

    pub(crate) fn seen() -> DeviceSeen {
        let used = |programmed| DeviceUse {
            moves: 800,
            ns: 16_000_000,
            programmed,
            programmed_by_all: programmed + 8,
        };
        let note = "3 losses of events".to_owned();
        DeviceSeen { methods: vec![used(1_480), used(120), used(118)], notes: vec![note] }
    }

    #[test]
    fn as_a_reader_sees_it() {
        let mut out = Vec::new();
        rearm_text(&measurement(), &Ok(seen()), Terminal::default(), &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn where_nothing_could_be_recorded() {
        let mut out = Vec::new();
        let device = Err("it needs CAP_BPF".to_owned());
        rearm_text(&measurement(), &device, Terminal::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let last = text.lines().last().unwrap();
        assert_eq!(
            last,
            "How often a clock-event device was programmed is not known: it needs CAP_BPF"
        );
        assert!(!text.contains("programmed/move"), "{text}");
    }
}
