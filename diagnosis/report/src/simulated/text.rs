//! Simulated figures as lines of text.

use super::{
    HEADS, INTERVALS, LOCKS_HEADS, MOVES_HEADS, SimulatedData, SimulatedLocks, SimulatedMoves,
    SimulatedRow,
};
use crate::clean::clean_cut;
use crate::text::{Align, Table, Terminal, WIDTH_MAX};
use std::io::{self, Write};

/// Writes a line per row, what moved timers cost, and how often priorities were lent.
///
/// # Errors
/// Where `out` cannot be written.
pub fn simulated_text(
    data: &SimulatedData<'_>,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    if !data.title.is_empty() {
        writeln!(out, "Simulated: {}", clean_cut(data.title, WIDTH_MAX))?;
    }
    let width = terminal.clamped().width;
    let first = data.first_column();
    if !data.rows.is_empty() {
        let rows = data.rows.iter().map(SimulatedRow::cells);
        write_table(&HEADS[first..], 3, &[10, 4, 6], first, rows, terminal, out)?;
    }
    if !data.moves.is_empty() {
        let rows = data.moves.iter().map(SimulatedMoves::cells);
        write_table(&MOVES_HEADS[first..], 2, &[2, 5], first, rows, terminal, out)?;
    }
    if !data.locks.is_empty() {
        let rows = data.locks.iter().map(SimulatedLocks::cells);
        write_table(&LOCKS_HEADS[first..], 2, &[3], first, rows, terminal, out)?;
    }
    if !data.rows.is_empty() {
        for line in textwrap::wrap(INTERVALS, width - 2) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

/// A table whose first columns hold words; `can_go` are those that a narrow terminal goes without, the first one
/// first. `first` columns of all rows are left out.
fn write_table(
    heads: &[&str],
    words: usize,
    can_go: &[usize],
    first: usize,
    rows: impl Iterator<Item = Vec<String>>,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut columns = vec![Align::Right; heads.len()];
    columns[..words - first].fill(Align::Left);
    let can_go: Vec<usize> = can_go.iter().map(|column| column - first).collect();
    let mut table = Table::new(&columns).can_do_without(&can_go);
    table.row(heads.iter().map(|head| (*head).to_owned()).collect());
    for row in rows {
        table.row(row[first..].to_vec());
    }
    let width = terminal.clamped().width;
    table.write(
        out,
        width,
        |row, _, text| {
            if row == 0 { terminal.dim(text) } else { text.to_owned() }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::{data, latencies};
    use super::*;

    #[test]
    fn as_a_reader_sees_it() {
        let (latencies, truth) = latencies();
        let data = data(&latencies, &truth);
        for (width, writes) in [(140, true), (80, false)] {
            let mut out = Vec::new();
            simulated_text(&data, Terminal { width, colour: false }, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.contains("10,000") && text.contains("14.9 µs (14.9–14.9 µs)"), "{text}");
            assert_eq!(text.matches("42,123/s").count(), if writes { 3 } else { 1 }, "{text}");
            assert!(text.contains("0.9300") && text.contains("4.21 %"), "{text}");
            assert!(text.contains("double boosts") && text.contains("0.50 %"), "{text}");
            assert!(!text.contains('\u{1b}'));
        }
    }
}
