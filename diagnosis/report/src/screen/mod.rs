//! The first screen: the verdict, what to do, and as much evidence as there is room for.
//!
//! It fits into [`LINES_MAX`] lines of 100 columns, whatever was recorded, as long as nobody asks for more worst
//! wakeups than are shown by themselves. [`crate::terminal`] is all that there is.

mod causes;
mod culprits;
mod foot;
mod lateness;
mod measured;
mod predicted;
mod remedy;
mod verdict;
mod worst;

pub(crate) use worst::STORIES;

use crate::clean::cut;
use crate::data::{Data, Limits};
use crate::section::timers;
use crate::text::Terminal;
use std::io::{self, Write};

/// Lines of the whole screen at most: those of a terminal that is neither new nor small.
pub const LINES_MAX: usize = 40;

/// Lines of a part at most, and what writes it.
type Part = (usize, fn(&Data<'_>, Terminal, &mut dyn Write) -> io::Result<()>);

/// Causes and culprits that are shown, each a line, where there is room; and where what to do needs it.
pub(crate) const ROWS: usize = 5;
const ROWS_MIN: usize = 3;

/// All but what to do, in the order in which they are shown. That comes after the first, and has the lines that
/// are left. Lines of tables are those of their fewest rows.
const PARTS: [Part; 6] = [
    (10, verdict::write),
    (1, lateness::write),
    (1 + ROWS_MIN, causes::write),
    (1 + ROWS_MIN, culprits::write),
    (7, worst::write),
    (3, foot::write),
];

/// What to do has so many lines in any case.
const REMEDY_LINES_MIN: usize = 5;

/// Advice for which tables give lines up.
const ADVICE_WHOLE: usize = 2;

const _: () = {
    // An empty line between each two.
    let (mut lines, mut at) = (PARTS.len() + REMEDY_LINES_MIN, 0);
    while at < PARTS.len() {
        lines += PARTS[at].0;
        at += 1;
    }
    assert!(lines <= LINES_MAX);
};

/// So many lines, the last of which says that there are more.
fn first_lines(lines: &[impl AsRef<str>], most: usize, width: usize) -> Vec<String> {
    let mut shown: Vec<String> =
        lines.iter().take(most).map(|line| line.as_ref().to_owned()).collect();
    if lines.len() > most
        && let Some(last) = shown.last_mut()
    {
        *last = cut(&format!("{last} …"), width);
    }
    shown
}

/// Writes the first screen.
///
/// # Errors
/// Where `out` cannot be written.
pub fn screen(data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let terminal = terminal.clamped();
    let wanted = remedy::lines(data, terminal, ADVICE_WHOLE);
    let least = wanted.min(REMEDY_LINES_MIN);
    let mut rows = data.limits.rows;
    let (mut texts, room) = loop {
        let data = Data { limits: Limits { rows, ..data.limits }, ..*data };
        let texts = parts(&data, terminal)?;
        let shown = texts.iter().filter(|text| !text.is_empty());
        let taken: usize = shown.map(|text| lines_of(text) + 1).sum();
        let room = LINES_MAX.saturating_sub(taken);
        if room >= wanted || rows <= ROWS_MIN {
            break (texts, room);
        }
        rows -= 1;
    };
    let mut remedy = Vec::new();
    remedy::write(data, terminal, room.max(least), &mut remedy)?;
    texts.insert(1, remedy);
    texts.retain(|text| !text.is_empty());
    out.write_all(&texts.join(&b'\n'))?;
    if data.timers.is_some() {
        // Whoever asked for them gets them all.
        writeln!(out)?;
        timers(data, terminal, out)?;
    }
    Ok(())
}

/// All but what to do.
fn parts(data: &Data<'_>, terminal: Terminal) -> io::Result<Vec<Vec<u8>>> {
    let grows = data.explanation.is_none() || data.limits.stories > STORIES;
    let is_least = data.limits.rows <= ROWS_MIN;
    let parts = PARTS.iter().map(|(lines_max, part)| {
        let mut text = Vec::new();
        part(data, terminal, &mut text)?;
        let fits = lines_of(&text) <= *lines_max;
        debug_assert!(grows || !is_least || fits, "{}", lines_of(&text));
        Ok(text)
    });
    parts.collect()
}

fn lines_of(text: &[u8]) -> usize {
    text.split(|byte| *byte == b'\n').count() - 1
}

#[cfg(test)]
mod tests;
