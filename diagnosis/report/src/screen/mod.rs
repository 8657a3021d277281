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
use crate::data::Data;
use crate::section::timers;
use crate::text::{Terminal, WIDTH_MAX, WIDTH_MIN};
use std::borrow::Cow;
use std::io::{self, Write};

/// Lines of the whole screen at most: those of a terminal that is neither new nor small.
pub const LINES_MAX: usize = 40;

/// Lines of a part at most, and what writes it.
type Part = (usize, fn(&Data<'_>, Terminal, &mut dyn Write) -> io::Result<()>);

/// All but what to do, in the order in which they are shown. That comes after the first, and has the lines that
/// are left.
const PARTS: [Part; 6] = [
    (8, verdict::write),
    (1, lateness::write),
    (6, causes::write),
    (6, culprits::write),
    (7, worst::write),
    (3, foot::write),
];

/// What to do has so many lines in any case.
const REMEDY_LINES_MIN: usize = 3;

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
fn first_lines(lines: &[Cow<'_, str>], most: usize, width: usize) -> Vec<String> {
    let mut shown: Vec<String> = lines.iter().take(most).map(ToString::to_string).collect();
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
    let terminal = Terminal { width: terminal.width.clamp(WIDTH_MIN, WIDTH_MAX), ..terminal };
    let mut texts = Vec::with_capacity(PARTS.len() + 1);
    for (lines_max, part) in PARTS {
        let mut text = Vec::new();
        part(data, terminal, &mut text)?;
        let grows = data.explanation.is_none() || data.limits.stories > STORIES;
        debug_assert!(grows || lines_of(&text) <= lines_max, "{}", lines_of(&text));
        texts.push(text);
    }
    let taken: usize =
        texts.iter().filter(|text| !text.is_empty()).map(|text| lines_of(text) + 1).sum();
    let mut remedy = Vec::new();
    let room = LINES_MAX.saturating_sub(taken).max(REMEDY_LINES_MIN);
    remedy::write(data, terminal, room, &mut remedy)?;
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

fn lines_of(text: &[u8]) -> usize {
    text.split(|byte| *byte == b'\n').count() - 1
}

#[cfg(test)]
mod tests;
