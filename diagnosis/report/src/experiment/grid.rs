//! A table of figures for text and page alike.

use crate::clean::{clean, clean_cut};
use crate::text::{Align, Table, Terminal};
use crate::units::unbroken;
use maud::{Markup, html};
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// Wider names are cut in text; the page has them whole.
const KEY_WIDTH_MAX: usize = 28;
/// What text puts before a line, and between columns: as [`Table`] does.
const INDENT: usize = 2;
const GAP: usize = 2;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// A name: told again where the columns are too many for one line.
    Name,
    /// What was measured here.
    Measured,
    /// A figure, then its interval in brackets: on the page below it, as it is long.
    Difference,
    /// What the source reports, from another machine.
    Reported,
    /// What a formula says.
    Formula,
    /// Words: left-aligned.
    Words,
}

/// Rows of figures under heads.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    title: String,
    columns: Vec<(String, Holds)>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

impl Grid {
    pub(super) fn new(title: impl Into<String>) -> Self {
        Self {
            title: clean(&title.into()),
            columns: Vec::new(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// One more column; all of them before the first row.
    pub(super) fn column(&mut self, head: impl Into<String>, holds: Holds) {
        debug_assert!(self.rows.is_empty());
        self.columns.push((clean(&head.into()), holds));
    }

    /// Columns of what was measured here.
    pub(super) fn measured<const N: usize>(&mut self, heads: [&str; N]) {
        for head in heads {
            self.column(head, Holds::Measured);
        }
    }

    /// A row of as many cells as there are columns. Cells are cleaned here.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells.into_iter().map(|cell| clean(&cell)).collect());
    }

    /// Whether it has a column of what the source reports.
    pub(super) fn has_reported(&self) -> bool {
        self.columns.iter().any(|(_, holds)| *holds == Holds::Reported)
    }

    /// A sentence under the table.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(clean(&note.into()));
    }

    /// Whether it has no row.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Leaves out columns in which no row has anything, unless they are names.
    #[must_use]
    pub(super) fn without_empty_columns(mut self) -> Self {
        let keeps: Vec<bool> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, (_, holds))| {
                *holds == Holds::Name || self.rows.iter().any(|row| !row[at].is_empty())
            })
            .collect();
        let mut keep = keeps.iter();
        self.columns.retain(|_| keep.next() == Some(&true));
        for row in &mut self.rows {
            let mut keep = keeps.iter();
            row.retain(|_| keep.next() == Some(&true));
        }
        self
    }

    /// The table as text. Where it is too wide, columns go on below, each part with the names.
    pub(super) fn write(&self, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        writeln!(out, "{}", terminal.bold(&self.title))?;
        for (part, columns) in self.parts(terminal.width).into_iter().enumerate() {
            if part > 0 {
                writeln!(out)?;
            }
            self.write_part(&columns, terminal, out)?;
        }
        for note in &self.notes {
            for line in textwrap::wrap(note, terminal.width - INDENT) {
                writeln!(out, "  {}", terminal.dim(&line))?;
            }
        }
        Ok(())
    }

    fn write_part(
        &self,
        columns: &[usize],
        terminal: Terminal,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let holds: Vec<Holds> = columns.iter().map(|&at| self.columns[at].1).collect();
        let aligns: Vec<Align> = holds
            .iter()
            .map(|holds| match holds {
                Holds::Name | Holds::Words => Align::Left,
                _ => Align::Right,
            })
            .collect();
        let mut table = Table::new(&aligns);
        let heads = columns.iter().map(|&at| self.columns[at].0.clone());
        table.row(heads.collect());
        for row in &self.rows {
            let cell = |&at: &usize| match self.columns[at].1 {
                Holds::Name => clean_cut(&row[at], KEY_WIDTH_MAX),
                _ => row[at].clone(),
            };
            table.row(columns.iter().map(cell).collect());
        }
        table.write(out, terminal.width, |row, column, text| {
            if row == 0 || matches!(holds[column], Holds::Reported | Holds::Formula) {
                terminal.dim(text)
            } else {
                text.to_owned()
            }
        })
    }

    /// Columns that fit beside each other, all with the names.
    fn parts(&self, width: usize) -> Vec<Vec<usize>> {
        let of = |at: usize| {
            let cells = self.rows.iter().map(|row| row[at].width());
            let widest = cells.chain([self.columns[at].0.width()]).max().unwrap_or(0);
            GAP + if self.columns[at].1 == Holds::Name { widest.min(KEY_WIDTH_MAX) } else { widest }
        };
        let is_name = |at: &usize| self.columns[*at].1 == Holds::Name;
        let (names, figures): (Vec<usize>, Vec<usize>) = (0..self.columns.len()).partition(is_name);
        // The first column has an indent in place of a gap.
        debug_assert_eq!(INDENT, GAP);
        let taken: usize = names.iter().map(|&at| of(at)).sum();
        let mut parts = vec![names.clone()];
        let mut used = taken;
        for at in figures {
            let has_figures = parts.last().is_some_and(|part| part.len() > names.len());
            if has_figures && used + of(at) > width {
                parts.push(names.clone());
                used = taken;
            }
            used += of(at);
            if let Some(part) = parts.last_mut() {
                part.push(at);
            }
        }
        parts
    }

    /// The table as markup, under a heading of the third order.
    pub(super) fn html(&self) -> Markup {
        if self.rows.is_empty() {
            return Markup::default();
        }
        let class = |holds: Holds| match holds {
            Holds::Name => "",
            Holds::Words => "words",
            Holds::Measured | Holds::Difference => "number",
            Holds::Reported => "number reported",
            Holds::Formula => "number formula",
        };
        html! {
            h3 { (self.title) }
            div.scroll {
                table {
                    thead {
                        tr {
                            @for (head, holds) in &self.columns {
                                th.number[!matches!(holds, Holds::Name | Holds::Words)]
                                    .reported[*holds == Holds::Reported]
                                    .formula[*holds == Holds::Formula] scope="col" { (head) }
                            }
                        }
                    }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                @for (cell, (_, holds)) in row.iter().zip(&self.columns) {
                                    @if *holds == Holds::Name {
                                        th scope="row" { bdi { (cell) } }
                                    } @else {
                                        td class=(class(*holds)) {
                                            @match cell.split_once(" (") {
                                                Some((figure, interval)) if *holds == Holds::Difference => {
                                                    (unbroken(figure)) br;
                                                    small { "(" (unbroken(interval)) }
                                                }
                                                _ => (unbroken(cell)),
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            @for note in &self.notes { p.note { (unbroken(note)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(grid: &Grid, width: usize) -> String {
        let mut out = Vec::new();
        grid.write(Terminal { width, colour: false }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn grid() -> Grid {
        let mut grid = Grid::new("Figures");
        grid.column("µs", Holds::Name);
        grid.measured(["a", "b", "c"]);
        grid.column("source a", Holds::Reported);
        grid.row(
            ["one", "1234567890123456789", "12345678901234567890", "", "3"]
                .map(str::to_owned)
                .into(),
        );
        grid
    }

    #[test]
    fn columns_that_do_not_fit_go_on_below_with_the_names() {
        let text = text(&grid(), 70);
        assert_eq!(text.matches("\n  one").count(), 1, "{text}");
        let text = self::text(&grid(), 40);
        assert_eq!(text.matches("\n  one").count(), 2, "{text}");
        assert!(text.lines().all(|line| line.width() <= 40), "{text}");
        assert!(text.contains("12345678901234567890"), "nothing is cut: {text}");
    }

    #[test]
    fn a_column_without_anything_is_left_out_and_names_are_spelt_out() {
        let mut grid = grid().without_empty_columns();
        assert_eq!(grid.columns.len(), 4);
        grid.row(["\u{1b}[31m<b>", "", "", ""].map(str::to_owned).into());
        assert!(text(&grid, 100).contains("\\u{1b}[31m<b>"));
        assert!(grid.html().into_string().contains("\\u{1b}[31m&lt;b&gt;"));
    }

    #[test]
    fn what_another_machine_reports_is_marked() {
        let grid = grid();
        assert!(grid.has_reported());
        assert!(grid.html().into_string().contains("number reported"));
    }
}
