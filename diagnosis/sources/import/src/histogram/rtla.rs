//! The table that `rtla timerlat hist` and `rtla osnoise hist` print, of all versions since 5.17.
//!
//! After a header come lines of an index and a count per column, then `over:`, `count:`, `min:`,
//! `avg:` and `max:`; newer versions add sums over all CPUs, which are not read. Lines without counts
//! are left out unless asked for, and the width of the bins is not told: it divides every index.

use super::ROWS_MAX;
use super::lines::{Lines, is_nothing, unquoted};
use super::row::{Filled, Histograms, Row};
use crate::{ImportError, Input};

/// Reads the table. Columns' names begin with one of `kinds`.
pub(super) fn read(
    input: Input,
    format: &'static str,
    tool: &'static str,
    kinds: &[&str],
) -> Result<Histograms, ImportError> {
    let mut lines = Lines::new(input, format);
    let mut line = String::new();
    let mut table = Table::default();
    while lines.next(&mut line)? {
        let text = line.trim();
        if let Some(comment) = text.strip_prefix('#') {
            if let Some(unit) = comment.trim().strip_prefix("Time unit is ") {
                table.unit_ns = if unit.starts_with("nano") { 1 } else { 1_000 };
            }
        } else if let Some(columns) = text.strip_prefix("Index") {
            table.columns(columns, kinds, &lines)?;
        } else if text.starts_with("ALL:") {
            // Sums over the columns follow.
            break;
        } else if !text.is_empty() && table.has_head && !table.line(text, &lines)? {
            break;
        }
    }
    table.finish(tool, &lines)
}

#[derive(Default)]
struct Table {
    unit_ns: u64,
    has_head: bool,
    has_over: bool,
    rows: Vec<Row>,
    filled: Filled,
    counted: bool,
    /// The greatest common divisor of the indices, in units.
    divisor: u64,
}

impl Table {
    fn columns(&mut self, text: &str, kinds: &[&str], lines: &Lines) -> Result<(), ImportError> {
        if self.unit_ns == 0 {
            return Err(lines.broken("no line `# Time unit is …` stands before it"));
        }
        for name in text.split_ascii_whitespace() {
            let cpu = kinds.iter().find_map(|kind| name.strip_prefix(kind)?.strip_prefix('-'));
            let cpu = cpu.and_then(|cpu| cpu.parse().ok());
            if cpu.is_none() || self.rows.len() == ROWS_MAX {
                return Err(lines.broken(format!("`{name:.40}` is no column that is known")));
            }
            self.rows.push(Row { name: name.to_owned(), cpu, ..Row::default() });
        }
        self.has_head = true;
        Ok(())
    }

    /// A line of the table; `false` where it is none, because the table has ended.
    fn line(&mut self, text: &str, lines: &Lines) -> Result<bool, ImportError> {
        if let Some((title, values)) = text.split_once(':') {
            if !matches!(title, "over" | "count" | "min" | "avg" | "max") {
                return Ok(false);
            }
            let words: Vec<&str> = values.split_ascii_whitespace().collect();
            // Without a sample there are no columns, and yet a 0.
            if self.rows.is_empty() {
                self.has_over = true;
                return Ok(true);
            }
            self.fits(words.len(), lines)?;
            for (at, word) in words.into_iter().enumerate() {
                self.summary(title, at, word, lines)?;
            }
            return Ok(true);
        }
        if !text.starts_with(|first: char| first.is_ascii_digit()) || self.has_over {
            return Ok(false);
        }
        let numbers = lines.numbers(text)?;
        let Some((index, counts)) = numbers.split_first() else { return Ok(true) };
        self.fits(counts.len(), lines)?;
        let from_ns = lines.time_ns(*index, self.unit_ns)?;
        self.divisor = common_divisor(self.divisor, *index);
        for (row, count) in self.rows.iter_mut().zip(counts) {
            self.filled.add(row, from_ns, *count).map_err(|why| lines.broken(why))?;
        }
        Ok(true)
    }

    fn fits(&self, values: usize, lines: &Lines) -> Result<(), ImportError> {
        if values == self.rows.len() {
            return Ok(());
        }
        let columns = self.rows.len();
        let why = format!("{values} values for {columns} columns; was it written with --no-index?");
        Err(lines.broken(why))
    }

    fn summary(
        &mut self,
        title: &str,
        at: usize,
        word: &str,
        lines: &Lines,
    ) -> Result<(), ImportError> {
        let unit_ns = self.unit_ns;
        let time = |word: &str| {
            if is_nothing(word) {
                return Ok(None);
            }
            lines.time_ns(lines.number(word)?, unit_ns).map(Some)
        };
        let row = &mut self.rows[at];
        match title {
            "over" => (row.over, self.has_over) = (lines.number(word)?, true),
            "count" => (row.count, self.counted) = (lines.number(word)?, true),
            "min" => row.min_ns = time(word)?,
            "avg" => row.mean_ns = lines.mean_ns(word, unit_ns)?,
            _ => row.max_ns = time(word)?,
        }
        Ok(())
    }

    fn finish(mut self, tool: &'static str, lines: &Lines) -> Result<Histograms, ImportError> {
        if !self.has_head {
            return Err(lines.missing("its line `Index …`"));
        }
        if !self.has_over {
            return Err(lines.missing("its line `over:`"));
        }
        let mut notes = Vec::new();
        for row in &mut self.rows {
            if !self.counted && row.is_countable() {
                row.count = row.binned();
            }
        }
        if !self.counted && !self.rows.is_empty() {
            notes.push(
                "it was written without its summary: minimum, mean and maximum are not known"
                    .to_owned(),
            );
        }
        let bin_ns = if self.divisor == 0 {
            // All in the first bin, which is at least as wide as the most is long.
            let max_ns = self.rows.iter().filter_map(|row| row.max_ns).max().unwrap_or(0);
            max_ns.saturating_add(self.unit_ns)
        } else {
            lines.time_ns(self.divisor, self.unit_ns)?
        };
        if bin_ns > self.unit_ns {
            notes.push(format!(
                "the bin width is not in the file; all bins begin at multiples of {bin_ns} ns, \
                 which is used as the width"
            ));
        }
        Ok(Histograms {
            tool,
            unit_ns: self.unit_ns,
            bin_ns,
            rows: self.rows,
            notes,
            ..Histograms::default()
        })
    }
}

/// The greatest number that divides both.
fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Whether `head` begins such a table of this title.
pub(super) fn recognises(head: &[u8], title: &str) -> bool {
    // What the tool says of its beginning may stand before it.
    head.split(|byte| *byte == b'\n').any(|line| unquoted(line).trim_ascii() == title.as_bytes())
}
