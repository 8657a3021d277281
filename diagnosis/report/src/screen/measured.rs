//! What the threads measured themselves, where that is all there is.

use crate::clean::clean_cut;
use crate::data::Data;
use crate::section::latency_numbers;
use crate::text::{Align, Table, Terminal};
use crate::units::count;
use std::io::{self, Write};

/// Threads that have a line. Nothing else is on the screen then.
const THREADS: usize = 15;

pub(super) fn write(data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let Some(measurement) = data.measurement.filter(|m| !m.threads.is_empty()) else {
        return Ok(());
    };
    let mut columns = vec![Align::Left];
    columns.resize(7, Align::Right);
    let mut table = Table::new(&columns).can_do_without(&[3, 5]);
    table
        .row(["thread", "wakeups", "mean", "p50", "p99", "p99.9", "max"].map(str::to_owned).into());
    let mut threads: Vec<_> = measurement.threads.iter().collect();
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.latencies.max_ns()));
    for thread in threads.iter().take(THREADS) {
        let mut row = vec![clean_cut(&thread.name, 20)];
        row.extend(latency_numbers(&thread.latencies));
        table.row(row);
    }
    table.write(out, terminal.width, |row, _, text| {
        if row == 0 { terminal.dim(text) } else { text.to_owned() }
    })?;
    if let Some(more @ 1..) = threads.len().checked_sub(THREADS) {
        writeln!(out, "  {}", terminal.dim(&format!("and {} more", count(more as u64))))?;
    }
    Ok(())
}
