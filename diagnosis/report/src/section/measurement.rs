//! What the measuring threads saw themselves.

use super::Section;
use super::victims::numbers;
use crate::clean::{clean, clean_cut};
use crate::data::Data;
use crate::text::{Align, Table, Terminal};
use crate::units::{count, duration};
use maud::{Markup, html};
use std::io::{self, Write};
use tardy_lab::{Measurement, ThreadMeasurement};

pub(super) struct MeasurementTable;

const HEADS: [&str; 10] =
    ["thread", "policy", "CPU", "interval", "wakeups", "mean", "p50", "p99", "p99.9", "max"];

impl Section for MeasurementTable {
    fn terminal(&self, data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        let Some(measurement) = data.measurement.filter(|m| !m.threads.is_empty()) else {
            return Ok(());
        };
        writeln!(out, "{}", terminal.bold("Measured: by the threads themselves"))?;
        let mut columns = vec![Align::Left, Align::Left];
        columns.resize(HEADS.len(), Align::Right);
        let mut table = Table::new(&columns).can_do_without(&[3, 6, 1, 8]);
        table.row(HEADS.map(str::to_owned).into());
        for thread in &measurement.threads {
            let mut row = cells(thread);
            row[0] = clean_cut(&thread.name, 16);
            table.row(row);
        }
        table.write(out, terminal.width, |row, _, text| {
            if row == 0 { terminal.dim(text) } else { text.to_owned() }
        })?;
        for sentence in remarks(measurement) {
            for line in textwrap::wrap(&sentence, terminal.width - 2) {
                writeln!(out, "  {}", terminal.warn(&line))?;
            }
        }
        Ok(())
    }

    fn html(&self, data: &Data<'_>) -> Markup {
        let Some(measurement) = data.measurement.filter(|m| !m.threads.is_empty()) else {
            return Markup::default();
        };
        html! {
            section #measurement {
                h2 { "Measured: by the threads themselves" }
                div.scroll {
                    table {
                        thead { tr {
                            th { (HEADS[0]) } th { (HEADS[1]) }
                            @for head in &HEADS[2..] { th.number { (head) } }
                        } }
                        tbody {
                            @for thread in &measurement.threads {
                                @let cells = cells(thread);
                                tr {
                                    th.name scope="row" title=(cells[0]) { bdi { (cells[0]) } }
                                    td { (cells[1]) }
                                    @for cell in &cells[2..] { td.number { (cell) } }
                                }
                            }
                        }
                    }
                }
                @for sentence in remarks(measurement) { p.note { (sentence) } }
            }
        }
    }
}

/// Clean cells in the order of [`HEADS`].
fn cells(thread: &ThreadMeasurement) -> Vec<String> {
    let policy = match thread.prio {
        0 => thread.policy.name().to_owned(),
        prio => format!("{}:{prio}", thread.policy.name()),
    };
    let cpu = thread.cpu.map_or_else(|| "any".to_owned(), |cpu| cpu.to_string());
    let mut cells = vec![clean(&thread.name), policy, cpu, duration(thread.interval_ns)];
    cells.extend(numbers(&thread.latencies));
    cells
}

fn remarks(measurement: &Measurement) -> Vec<String> {
    let mut remarks = Vec::new();
    let overruns: u64 = measurement.threads.iter().map(|thread| thread.overruns).sum();
    if overruns > 0 {
        let were = if overruns == 1 { "expiry was" } else { "expiries were" };
        remarks.push(format!(
            "{} {were} missed outright: the thread was still late from one before.",
            count(overruns)
        ));
    }
    if let Some(broken) = &measurement.broken_by {
        remarks.push(format!(
            "{} was late by {}: that broke the bound and ended the measurement.",
            clean(&broken.thread),
            duration(broken.latency_ns)
        ));
    }
    remarks
}
