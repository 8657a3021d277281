//! Lines in columns: those that can be done without go where there is little room.

use super::Ink;
use ratatui::layout::Constraint;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Row, Table};

/// What the last column is cut to before another one is left out.
const WORDS_MIN: usize = 16;

/// What the first column is cut to.
const NAME_MAX: usize = 28;
const NAME_MAX_NARROW: usize = 18;

/// Below this there is a column between two, else there are two.
const NARROW: usize = 100;

/// A column.
pub(super) struct Column {
    pub(super) heading: &'static str,
    pub(super) is_words: bool,
    /// The least goes first; those without stay.
    pub(super) rank: Option<u8>,
}

/// A line.
pub(super) struct GridLine {
    pub(super) cells: Vec<String>,
    /// Nothing came of late.
    pub(super) is_quiet: bool,
    /// The bar is on it.
    pub(super) is_chosen: bool,
    /// What its cause is shown in, and in which columns.
    pub(super) colour: Option<Color>,
    pub(super) coloured: Vec<usize>,
}

/// A table. Its last column takes what is left.
pub(super) struct Grid {
    pub(super) columns: Vec<Column>,
    pub(super) lines: Vec<GridLine>,
}

impl Grid {
    /// As a widget of this width.
    pub(super) fn widget(&self, width: usize) -> Table<'static> {
        let gap = if width < NARROW { 1 } else { 2 };
        let columns = self.fitting(width, gap);
        let aligned = |at: usize, text: &str, style: Style| {
            let line = Line::styled(text.to_owned(), style);
            let is_words = self.columns[at].is_words;
            Cell::new(if is_words { line.left_aligned() } else { line.right_aligned() })
        };
        let rows = self.lines.iter().map(|line| {
            let cells = columns.iter().map(|(at, _)| {
                let colour = line.colour.filter(|_| line.coloured.contains(at));
                let style = colour.map_or_else(Style::new, |colour| Style::new().fg(colour));
                aligned(*at, &line.cells[*at], style)
            });
            let quiet = if line.is_quiet { Ink::dim() } else { Style::new() };
            let chosen = if line.is_chosen { Modifier::REVERSED } else { Modifier::empty() };
            Row::new(cells.collect::<Vec<_>>()).style(quiet.add_modifier(chosen))
        });
        let rows: Vec<Row<'static>> = rows.collect();
        let header =
            columns.iter().map(|(at, _)| aligned(*at, self.columns[*at].heading, Style::new()));
        let header = Row::new(header.collect::<Vec<_>>())
            .style(Style::new().add_modifier(Modifier::UNDERLINED));
        let last = self.columns.len() - 1;
        let widths = columns.iter().map(|(at, width)| match *at {
            at if at == last => Constraint::Fill(1),
            _ => Constraint::Length(*width as u16),
        });
        let widths: Vec<Constraint> = widths.collect();
        Table::new(rows, widths).header(header).column_spacing(gap as u16)
    }

    /// The columns that fit into `width`, each with its own.
    pub(super) fn fitting(&self, width: usize, gap: usize) -> Vec<(usize, usize)> {
        let last = self.columns.len() - 1;
        let name_max = if width < NARROW { NAME_MAX_NARROW } else { NAME_MAX };
        let width_of = |at: usize| {
            let cells = self.lines.iter().map(|line| Line::from(line.cells[at].as_str()).width());
            let widest = cells.max().unwrap_or(0).max(Line::from(self.columns[at].heading).width());
            if at == 0 { widest.min(name_max) } else { widest }
        };
        let mut columns: Vec<(usize, usize)> =
            (0..self.columns.len()).map(|at| (at, width_of(at))).collect();
        loop {
            let needed =
                |(at, width): &(usize, usize)| if *at == last { WORDS_MIN } else { width + gap };
            if columns.iter().map(needed).sum::<usize>() <= width {
                return columns;
            }
            let ranked = |at: &usize| self.columns[columns[*at].0].rank;
            let first = (0..columns.len()).filter(|at| ranked(at).is_some()).min_by_key(ranked);
            match first {
                Some(at) => columns.remove(at),
                None => return columns,
            };
        }
    }
}
