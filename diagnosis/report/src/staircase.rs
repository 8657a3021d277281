//! Deviations of cyclic threads from their timelines, as text.

use crate::clean::{clean, clean_cut};
use crate::text::{Align, Table, Terminal};
use crate::units::{count, duration};
use crate::{Resolution, units};
use std::io::{self, Write};
use std::time::Duration;
use tardy_lab::staircase::{REPORTED, REPORTED_THREADS};
use tardy_lab::{Measurement, ThreadMeasurement};

/// What a measurement does not tell of itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct StaircaseRun<'a> {
    /// What ran meanwhile.
    pub load: Option<&'a str>,
    /// How long it was.
    pub took: Duration,
    /// Whether to show what was reported of the first such experiment.
    pub reference: bool,
}

const FIGURES: [&str; 6] = ["", "max", "n", "missed", "mean", "p99"];

/// Writes a staircase of threads as text: a row each, as `[T0 Prio: 60]`.
///
/// # Errors
/// Where `out` cannot be written.
pub fn staircase_text(
    measurement: &Measurement,
    run: StaircaseRun<'_>,
    resolution: Resolution,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let terminal = terminal.clamped();
    let unit = match resolution {
        Resolution::Micros => "µs",
        Resolution::Nanos => "ns",
    };
    let head = format!("Deviations from the timeline, {unit}");
    writeln!(out, "{}", terminal.bold(&head))?;
    wrapped(&facts(measurement, run), terminal, out)?;
    writeln!(out)?;
    let sets_up = if run.reference { &REPORTED[..] } else { &[] };
    let mut columns = vec![Align::Left];
    columns.resize(FIGURES.len() + sets_up.len(), Align::Right);
    let mut table = Table::new(&columns).can_do_without(&[4, 5, 3]);
    let letters = ["A", "B", "C"].iter().take(sets_up.len());
    table.row(FIGURES.iter().chain(letters).map(|&head| head.to_owned()).collect());
    for (k, thread) in measurement.threads.iter().enumerate() {
        let mut row = cells(thread, resolution);
        row.extend(sets_up.iter().map(|reported| {
            let reported_ns = reported.max_us.get(k).map(|us| us * 1000);
            reported_ns.map_or_else(String::new, |ns| number(ns as f64, resolution, 0))
        }));
        table.row(row);
    }
    table.write(out, terminal.width, |row, column, text| {
        if row == 0 || column >= FIGURES.len() { terminal.dim(text) } else { text.to_owned() }
    })?;
    if let Some(broken) = &measurement.broken_by {
        let sentence = format!(
            "{} strayed by {}: that broke the bound and ended the measurement.",
            clean(&broken.thread),
            duration(broken.latency_ns)
        );
        writeln!(out)?;
        wrapped(&terminal.warn(&sentence), terminal, out)?;
    }
    if run.reference {
        let names: Vec<String> = ["A", "B", "C"]
            .iter()
            .zip(REPORTED)
            .map(|(letter, reported)| format!("{letter}: {}", reported.set_up))
            .collect();
        let sentence = format!(
            "For reference: the largest deviations of T0 to T{} in \"High resolution timers and \
             BH processing on -RT\" (Thomas Gleixner, linux-kernel, 28 January 2005), a Celeron of \
             333 MHz, load average about 4, about 60 min each, so n is about 3,600,000 for T0 and \
             720,000 for T4. {}. Hardware, kernel and n are different, so the difference means \
             nothing.",
            REPORTED_THREADS - 1,
            names.join("; ")
        );
        writeln!(out)?;
        wrapped(&sentence, terminal, out)?;
    }
    Ok(())
}

fn wrapped(text: &str, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    textwrap::wrap(text, terminal.width).iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn facts(measurement: &Measurement, run: StaircaseRun<'_>) -> String {
    let mut facts = vec![];
    if let (Some(first), Some(last)) = (measurement.threads.first(), measurement.threads.last()) {
        let cpu = first.cpu.map_or_else(|| "any CPU".to_owned(), |cpu| format!("all on CPU {cpu}"));
        facts.push(format!("{}, {cpu}", first.policy.kernel_name()));
        facts.push(format!(
            "periods {} to {}",
            duration(first.interval_ns),
            duration(last.interval_ns)
        ));
    }
    facts.push(duration(run.took.as_nanos() as u64));
    facts.push(
        run.load.map_or_else(|| "no load".to_owned(), |load| format!("load {}", clean(load))),
    );
    units::unbroken(&facts.join(" · "))
}

fn cells(thread: &ThreadMeasurement, resolution: Resolution) -> Vec<String> {
    let deviations = &thread.latencies;
    let prio = match thread.prio {
        0 => thread.policy.name().to_owned(),
        prio => format!("Prio: {prio}"),
    };
    let figure = |ns: f64| match deviations.count() {
        0 => "-".to_owned(),
        _ => number(ns, resolution, 1),
    };
    vec![
        format!("[{} {prio}]", clean_cut(&thread.name, 16)),
        figure(deviations.max_ns() as f64),
        count(deviations.count()),
        count(thread.overruns),
        figure(deviations.mean_ns()),
        figure(deviations.quantile_ns(0.99) as f64),
    ]
}

/// µs with so many decimals, or whole ns.
fn number(ns: f64, resolution: Resolution, decimals: usize) -> String {
    match resolution {
        Resolution::Micros => format!("{:.decimals$}", ns / 1e3),
        Resolution::Nanos => format!("{ns:.0}"),
    }
}

#[cfg(test)]
pub(crate) mod fixture {
    use super::*;

    pub(crate) fn run() -> StaircaseRun<'static> {
        StaircaseRun { load: Some("storm:40"), took: Duration::from_secs(5), reference: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(run: StaircaseRun<'_>, resolution: Resolution, width: usize) -> String {
        let mut measurement = crate::fixture::measurement();
        for (k, thread) in measurement.threads.iter_mut().enumerate() {
            thread.name = format!("T{k}");
            thread.prio = 60 - k as u8;
        }
        measurement.threads[1].latencies = tardy_stats::Latencies::default();
        let terminal = Terminal { width, colour: false };
        let mut out = vec![];
        staircase_text(&measurement, run, resolution, terminal, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn as_a_reader_sees_it() {
        insta::assert_snapshot!(text(fixture::run(), Resolution::Micros, 100));
        let alone = StaircaseRun { reference: false, ..fixture::run() };
        insta::assert_snapshot!(text(alone, Resolution::Nanos, 60));
    }
}
