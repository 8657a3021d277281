//! Where there is more.

use super::first_lines;
use crate::clean::{clean, cut};
use crate::data::Data;
use crate::section::notes;
use crate::text::Terminal;
use crate::units::{counted, whole_percent};
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr as _;

/// A story that took less of all lateness is not what this is about.
const STORY_SHARE_MIN: f64 = 0.1;

/// Notes where nothing is explained, and lines of each.
const NOTES: usize = 3;
const LINES_EACH: usize = 6;

pub(super) fn write(data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let context = data.context;
    let notes = notes(data);
    if data.explanation.is_none() {
        // There is room: nothing else is on the screen.
        for note in notes.iter().take(NOTES) {
            let options = textwrap::Options::new(terminal.width).subsequent_indent("  ");
            for line in first_lines(&textwrap::wrap(note, options), LINES_EACH, terminal.width) {
                writeln!(out, "{line}")?;
            }
        }
    }
    let notes = notes.len() as u64;
    let patterns = data.explanation.into_iter().flat_map(|explanation| &explanation.patterns);
    if let Some(known) = patterns.max_by(|a, b| a.found.share.total_cmp(&b.found.share))
        && known.found.share >= STORY_SHARE_MIN
    {
        let share = whole_percent(known.found.share);
        let wakeups = counted(known.found.wakeups, "wakeup");
        let room = terminal.width - 15;
        let line = format!("{} in {wakeups}, {share} of all lateness", known.title);
        let short = format!("{}, {share} of all lateness", known.title);
        let line = if line.width() <= room { line } else { short };
        writeln!(out, "{} {}", terminal.bold("Known problem:"), cut(&line, room))?;
    }
    if let Some(page) = &context.page {
        // A path is there to be copied: it is never cut.
        writeln!(out, "{} {}", terminal.bold("Page"), clean(&page.to_string_lossy()))?;
    }
    let has_worst = data.explanation.is_some_and(|explanation| !explanation.worst.is_empty());
    if has_worst && !context.again.is_empty() {
        let command = format!("{} --why 1", clean(&context.again));
        let full =
            format!(" (the worst as a story), --worst 20, --full ({})", counted(notes, "note"));
        let others = [&full, " (the worst as a story), --worst 20, --full", ", --full", ""];
        let fits =
            |others: &&&str| "More ".len() + command.width() + others.width() <= terminal.width;
        let others = others.iter().find(fits).unwrap_or(&"");
        writeln!(out, "{} {}", terminal.bold("More"), terminal.dim(&(command + others)))?;
    }
    Ok(())
}
