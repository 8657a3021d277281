//! What to do.

use super::first_lines;
use crate::clean::cut;
use crate::data::Data;
use crate::section::{Lines, advice, advice_heading, advice_lines};
use crate::text::Terminal;
use std::io::{self, Write};

/// The lines of the first advice, so many of them whole, with the heading; 0 where there is none.
pub(super) fn lines(data: &Data<'_>, terminal: Terminal, whole: usize) -> usize {
    let all = advice(data).into_iter().take(whole).map(|finding| {
        let advice = advice_lines(data, finding, terminal);
        advice.sentence.len() + advice.commands.len()
    });
    match all.sum() {
        0 => 0,
        lines => 1 + lines,
    }
}

/// Writes what fits into `room` lines, the heading included.
pub(super) fn write(
    data: &Data<'_>,
    terminal: Terminal,
    room: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let room = room.saturating_sub(1);
    let all = advice(data);
    let mut shown: Vec<String> = Vec::new();
    let mut count = 0;
    for finding in &all {
        let Lines { mut sentence, mut commands } = advice_lines(data, finding, terminal);
        // The first is there in any case, with what tries it: that is its first command.
        if count == 0 && sentence.len() + commands.len() > room {
            commands.truncate(room.saturating_sub(1).max(1));
            sentence = first_lines(&sentence, room.saturating_sub(commands.len()), terminal.width);
        }
        if shown.len() + sentence.len() + commands.len() > room {
            break;
        }
        shown.extend(sentence);
        shown.extend(commands);
        count += 1;
    }
    if shown.is_empty() {
        return Ok(());
    }
    let heading = advice_heading(data);
    let heading = match all.len() - count {
        0 => heading,
        more => format!("{heading}; {more} more with --full"),
    };
    writeln!(out, "{}", terminal.bold(&cut(&heading, terminal.width)))?;
    for line in shown {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
