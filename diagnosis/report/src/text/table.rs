//! Columns that line up.

use crate::clean::cut;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// On which side of its column a cell stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of clean cells. Where they are too wide, columns that can be done without go first; then the
/// last column is cut, if it holds words, or the one that gives way for it.
pub(crate) struct Table {
    columns: Vec<Align>,
    dispensable: Vec<usize>,
    words_min: usize,
    gives: Option<usize>,
    indent: &'static str,
    rows: Vec<Vec<String>>,
}

const INDENT: &str = "  ";
const GAP: &str = "  ";
/// A last column of words is not cut shorter than this while another can be done without.
const WORDS_MIN: usize = 16;

impl Table {
    pub(crate) fn new(columns: &[Align]) -> Self {
        Self {
            columns: columns.to_vec(),
            dispensable: Vec::new(),
            words_min: WORDS_MIN,
            gives: None,
            indent: INDENT,
            rows: Vec::new(),
        }
    }

    /// Without the indent: its first row is a heading itself.
    pub(crate) fn flush(self) -> Self {
        Self { indent: "", ..self }
    }

    /// Columns that can be done without, the least needed first.
    pub(crate) fn can_do_without(mut self, columns: &[usize]) -> Self {
        self.dispensable = columns.to_vec();
        self
    }

    /// Words in the last column are worth a column that can be done without, as long as they have fewer columns than this.
    pub(crate) fn with_words(self, words_min: usize) -> Self {
        Self { words_min, ..self }
    }

    /// A column of names which is cut so that the last one is not, down to [`WORDS_MIN`].
    pub(crate) fn gives(self, column: usize) -> Self {
        Self { gives: Some(column), ..self }
    }

    /// A row; cells must be clean, as many as there are columns.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Writes all rows within `width` columns. `paint` colours a cell, given its row, its column
    /// and its padded text; it must not change the text's width.
    pub(crate) fn write(
        &self,
        out: &mut dyn Write,
        width: usize,
        paint: impl Fn(usize, usize, &str) -> String,
    ) -> io::Result<()> {
        let mut widths = self.widths();
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let mut dispensable = self.dispensable.iter();
        while self.least_width(&shown, &widths) > width
            && let Some(column) = dispensable.next()
        {
            shown.retain(|other| other != column);
        }
        if let Some(gives) = self.gives {
            let gaps = GAP.len() * shown.len().saturating_sub(1);
            let all: usize = shown.iter().map(|&at| widths[at]).sum();
            let excess = (self.indent.len() + all + gaps).saturating_sub(width);
            widths[gives] = widths[gives].saturating_sub(excess).max(widths[gives].min(WORDS_MIN));
        }
        if let Some((&last, others)) = shown.split_last() {
            let taken: usize =
                self.indent.len() + others.iter().map(|&at| widths[at] + GAP.len()).sum::<usize>();
            widths[last] = widths[last].min(width.saturating_sub(taken));
        }
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            // Padding that ends a line is written only where something follows it.
            let mut pending = self.indent.to_owned();
            for &column in &shown {
                let text = cut(&row[column], widths[column]);
                let room = " ".repeat(widths[column] - text.width());
                if self.columns[column] == Align::Right {
                    pending.push_str(&room);
                }
                let trimmed = text.trim_end();
                if !trimmed.is_empty() {
                    line.push_str(&std::mem::take(&mut pending));
                    line.push_str(&paint(number, column, trimmed));
                }
                pending.push_str(&text[trimmed.len()..]);
                if self.columns[column] == Align::Left {
                    pending.push_str(&room);
                }
                pending.push_str(GAP);
            }
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    /// Whether nothing need be left out or cut within `width` columns.
    pub(crate) fn fits(&self, width: usize) -> bool {
        let widths = self.widths();
        let gaps = GAP.len() * widths.len().saturating_sub(1);
        self.indent.len() + widths.iter().sum::<usize>() + gaps <= width
    }

    fn widths(&self) -> Vec<usize> {
        (0..self.columns.len())
            .map(|column| self.rows.iter().map(|row| row[column].width()).max().unwrap_or(0))
            .collect()
    }

    /// The width of all columns but for words in the last, which can be cut.
    fn least_width(&self, shown: &[usize], widths: &[usize]) -> usize {
        let Some((&last, others)) = shown.split_last() else { return 0 };
        let last = match self.columns[last] {
            Align::Left => widths[last].min(self.words_min),
            Align::Right => widths[last],
        };
        self.indent.len() + others.iter().map(|&at| widths[at] + GAP.len()).sum::<usize>() + last
    }
}
