//! What of a comparison comes first: a screen of it.
//!
//! It fits into [`SCREEN_LINES_MAX`](crate::SCREEN_LINES_MAX) lines of 100 columns, whatever is compared; only gates take
//! as many lines as they need, because a script's log must show what failed.
//! [`compare_text`](super::compare_text) is all that there is.

use super::text::{
    no_change, paragraph, verdicts, write_change, write_gates, write_lines, write_settings,
};
use super::{Compared, Subject, change, table};
use crate::clean::{clean, clean_cut, cut};
use crate::screen::LINES_MAX;
use crate::text::Terminal;
use crate::units::{count, counted};
use std::io::{self, Write};
use tardy_explain::change::Change;

/// Lines of parts at most; what changed has the lines that are left.
const VERDICT_LINES: usize = 6;
const SIDE_LINES: usize = 7;
const SETTING_LINES: usize = 6;
/// Lines that gates take from the rest at most.
const GATE_LINES: usize = 4;

/// Threads whose figures are shown; of one all, of several the few that matter most.
const SUBJECTS: usize = 3;
const FIGURES: [&str; 8] = ["n", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"];
const FEW_FIGURES: [&str; 2] = ["p50", "p99"];

/// Of a table of changes: its lines beside those of causes and culprits, which are the heading, the sum, the heading
/// of culprits and those for the others; and the fewest of causes and culprits.
const CHANGE_LINES: usize = 5;
const CHANGE_ROWS_MIN: usize = 3;

const _: () = assert!(
    VERDICT_LINES
        + SIDE_LINES
        + SETTING_LINES
        + 1
        + SUBJECTS * (FEW_FIGURES.len() + 1)
        + GATE_LINES
        + 1
        + 6
        <= LINES_MAX
);

/// Which part the gates are.
const GATES: usize = 4;

/// Writes the first screen.
///
/// # Errors
/// Where `out` cannot be written.
pub fn compare_screen(
    compared: &Compared,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let terminal = terminal.clamped();
    let mut parts = vec![
        lines(VERDICT_LINES, terminal, |out| verdict(compared, terminal, out))?,
        lines(SIDE_LINES, terminal, |out| sides(compared, terminal, out))?,
        lines(SETTING_LINES, terminal, |out| {
            write_settings(compared, terminal, SETTING_LINES, out)
        })?,
        lines(LINES_MAX, terminal, |out| figures(compared, terminal, out))?,
        lines(usize::MAX, terminal, |out| write_gates(compared, terminal, out))?,
        lines(1, terminal, |out| foot(compared, terminal, out))?,
    ];
    // An empty line between each two parts.
    let taken: usize =
        parts.iter().filter(|part| !part.is_empty()).map(|part| part.len() + 1).sum();
    let beyond = parts[GATES].len().saturating_sub(GATE_LINES);
    let room = LINES_MAX.saturating_sub(taken - beyond);
    parts.insert(3, lines(room, terminal, |out| changed(compared, room, terminal, out))?);
    parts.retain(|part| !part.is_empty());
    let parts: Vec<String> = parts.iter().map(|part| part.join("\n") + "\n").collect();
    out.write_all(parts.join("\n").as_bytes())
}

/// What `write` writes, as lines, so many at most; where some are left out, the last one says so.
fn lines(
    max: usize,
    terminal: Terminal,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<Vec<String>> {
    let mut text = Vec::new();
    write(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.len() > max {
        let more = lines.len() - max.saturating_sub(1);
        lines.truncate(max.saturating_sub(1));
        let words = format!("  {} more with --full", counted(more as u64, "line"));
        lines.extend((max > 0).then(|| terminal.dim(&words)));
    }
    Ok(lines)
}

fn verdict(compared: &Compared, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    for sentence in verdicts(compared) {
        paragraph(out, terminal, &sentence, |line| terminal.bold(line))?;
    }
    Ok(())
}

/// A line for each side: its name, where it is, how much there is. Then what a reader must know.
fn sides(compared: &Compared, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    for (place, side) in compared.sides.iter().enumerate() {
        let values = compared.subjects.iter().filter_map(|subject| subject.sides.get(place));
        let values: u64 = values.map(|side| side.sample.count()).sum();
        let line = format!(
            "{}: {} ({}), {}",
            side.short_name(),
            clean_cut(&side.given, 60),
            side.kind.name(),
            counted(values, "wakeup")
        );
        writeln!(out, "{}", cut(&line, terminal.width))?;
    }
    for warning in &compared.warnings {
        paragraph(out, terminal, &clean_cut(warning, 600), |line| terminal.warn(line))?;
    }
    Ok(())
}

/// What changed from the first side to the second.
fn changed(
    compared: &Compared,
    room: usize,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = compared.names();
    let Some(first) = compared.changes.first() else { return Ok(()) };
    let change: &Change = match first {
        Err(why) => return paragraph(out, terminal, &no_change(&names, 1, why), str::to_owned),
        Ok(_) if room < CHANGE_LINES + CHANGE_ROWS_MIN => {
            let line = "What changed, by cause and by culprit: --full";
            return writeln!(out, "{}", terminal.dim(line));
        }
        Ok(change) => change,
    };
    let rows = room - CHANGE_LINES;
    let by_cause = rows.div_ceil(2).max(rows.saturating_sub(change.culprits.len()));
    let causes = change::causes(change, by_cause.min(change.causes.len()).max(1));
    let culprits = change::culprits(change, (rows + 1).saturating_sub(causes.len()).max(1));
    write_change(&names, 1, change, [&causes, &culprits], terminal, out)
}

/// All figures of one subject, or the two that matter most of a few.
fn figures(compared: &Compared, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    if let [subject] = &compared.subjects[..] {
        return some_figures(subject, &FIGURES, terminal, out);
    }
    for subject in compared.subjects.iter().take(SUBJECTS) {
        writeln!(out, "{}", terminal.bold(&clean_cut(&subject.name, terminal.width)))?;
        some_figures(subject, &FEW_FIGURES, terminal, out)?;
    }
    let more = compared.subjects.len().saturating_sub(SUBJECTS) as u64;
    if more > 0 {
        writeln!(out, "  {}", terminal.dim(&format!("{} more with --full", count(more))))?;
    }
    Ok(())
}

fn some_figures(
    subject: &Subject,
    names: &[&str],
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut lines = table::lines(subject);
    // What was asked for by a gate is shown, what no side tells is not.
    let is_told = |line: &table::Line| line.sides.iter().any(|cell| cell != table::UNKNOWN);
    lines.retain(|line| names.contains(&line.name.as_str()) && is_told(line));
    let pairs: &[usize] = if subject.sides.len() == 2 { &[1] } else { &[] };
    write_lines(subject, &lines, pairs, terminal, out)
}

/// What else there is, and where.
fn foot(compared: &Compared, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let notes: usize = compared.sides.iter().map(|side| side.notes.len()).sum();
    let notes = (notes + compared.warnings.len()) as u64;
    let mut told = match notes {
        0 => "--full: all figures".to_owned(),
        notes => format!("--full: all figures, {}", counted(notes, "note")),
    };
    if let Some(page) = &compared.page {
        // A path is there to be copied: it is never cut.
        told = format!("{told}; page {}", clean(&page.to_string_lossy()));
    }
    writeln!(out, "{} {}", terminal.bold("More"), terminal.dim(&told))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::fixture;
    use unicode_width::UnicodeWidthStr as _;

    fn text(compared: &Compared, width: usize) -> String {
        let mut out = Vec::new();
        compare_screen(compared, Terminal { width, colour: false }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn as_a_reader_sees_it() {
        insta::assert_snapshot!(text(&fixture::compared(&[0, 5_000]), 100));
    }

    #[test]
    fn it_fits_whatever_is_compared() {
        for shifts in [&[0, 5_000][..], &[0, 300, 20], &[0, 5_000, 300, 7_000_000, 20, 40]] {
            for subjects in [1, 2, 5] {
                let mut compared = fixture::compared(shifts);
                let subject = compared.subjects[0].clone();
                compared.subjects = vec![subject; subjects];
                for (at, subject) in compared.subjects.iter_mut().enumerate() {
                    subject.name = format!("cyclic-{at}").repeat(if subjects > 1 { 3 } else { 0 });
                }
                compared.sides[0].name = "a\u{1b}[2J".repeat(30);
                compared.warnings = vec!["A warning that is long. ".repeat(9); 4];
                compared.gates = [&compared.gates[..], &compared.gates].concat();
                for asked in [60, 100, 140] {
                    let text = text(&compared, asked);
                    let mut gates = Vec::new();
                    let terminal = Terminal { width: asked, colour: false };
                    write_gates(&compared, terminal, &mut gates).unwrap();
                    let gates = String::from_utf8(gates).unwrap();
                    assert!(text.contains(&gates), "no gate is cut: {text}");
                    let beyond = gates.lines().count().saturating_sub(GATE_LINES);
                    assert!(
                        text.lines().count() <= LINES_MAX + beyond,
                        "{} lines: {text}",
                        text.lines().count()
                    );
                    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
                    for line in text.lines() {
                        assert!(line.width() <= asked, "{} > {asked}: {line}", line.width());
                    }
                }
            }
        }
    }

    #[test]
    fn why_nothing_can_be_told_of_causes_is_told() {
        let mut compared = fixture::compared(&[0, 5_000]);
        compared.changes = vec![Err("a histogram has no events".to_owned())];
        let text = text(&compared, 100);
        assert!(text.contains("is not known: a histogram has no events."), "{text}");
    }
}
