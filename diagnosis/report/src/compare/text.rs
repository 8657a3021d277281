//! A comparison as text.

use super::GateVerdict;
use super::change::{self, ChangeLine, Changed};
use super::settings::{NOT_RECORDED, widths};
use super::table::{self, Line};
use super::words::{basis_sentence, name, verdict_sentence};
use super::{Compared, SettingsCompared, SideFacts, Subject};
use crate::clean::{clean, clean_cut, cut, cut_middle};
use crate::text::{Align, Table, Terminal};
use std::io::{self, Write};
use tardy_explain::change::{Change, ChangeOf};
use unicode_width::UnicodeWidthStr as _;

/// Columns of one pair in a table of differences: the interval and its p.
const PAIR_WIDTH: usize = 2 + 34 + 2 + 6;

/// Causes and culprits of a table of changes in the whole text.
const ROWS_MAX: usize = 12;

/// Writes all of a comparison as text: what may be said, the sides, what differs besides, what changed, the figures,
/// the gates.
///
/// # Errors
/// Where `out` cannot be written.
pub fn compare_text(
    compared: &Compared,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let terminal = terminal.clamped();
    for sentence in verdicts(compared) {
        paragraph(out, terminal, &sentence, |line| terminal.bold(line))?;
    }
    writeln!(out)?;
    for side in &compared.sides {
        paragraph(out, terminal, &side_line(side), str::to_owned)?;
        for note in &side.notes {
            let note = format!("   {}", clean_cut(note, 400));
            paragraph(out, terminal, &note, |line| terminal.dim(line))?;
        }
    }
    for warning in &compared.warnings {
        paragraph(out, terminal, &clean_cut(warning, 600), |line| terminal.warn(line))?;
    }
    writeln!(out)?;
    write_settings(compared, terminal, usize::MAX, out)?;
    write_changes(&compared.names(), &compared.changes, terminal, out)?;
    let has_names = compared.subjects.iter().any(|subject| !subject.name.is_empty());
    for subject in &compared.subjects {
        writeln!(out)?;
        if has_names {
            writeln!(out, "{}", terminal.bold(&clean_cut(&subject.name, terminal.width)))?;
        }
        write_subject(subject, terminal, out)?;
        write_changes(&compared.names(), &subject.changes, terminal, out)?;
    }
    if !compared.gates.is_empty() {
        writeln!(out)?;
    }
    write_gates(compared, terminal, out)
}

/// What is shown of each subject and each later side.
pub(super) fn verdicts(compared: &Compared) -> Vec<String> {
    let has_names = compared.subjects.iter().any(|subject| !subject.name.is_empty());
    let of = |subject: &Subject| -> Vec<String> {
        let whose =
            if has_names { format!("{}: ", clean_cut(&subject.name, 40)) } else { String::new() };
        let said = |place| {
            let sentence = verdict_sentence(subject, place);
            match sentence.strip_prefix("No ") {
                Some(rest) if has_names => format!("{whose}no {rest}"),
                _ => format!("{whose}{sentence}"),
            }
        };
        (1..subject.sides.len()).map(said).collect()
    };
    compared.subjects.iter().flat_map(of).collect()
}

/// The table of settings that differ, with so many lines at most.
pub(super) fn write_settings(
    compared: &Compared,
    terminal: Terminal,
    lines_max: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let settings = &compared.settings;
    let is_empty = settings.differing.is_empty() && settings.equal == 0;
    if is_empty || settings.silent.len() == compared.sides.len() {
        return Ok(());
    }
    let heading = settings.heading();
    let sentence = settings.silence(&compared.sides);
    if settings.differing.is_empty() {
        let line =
            [Some(format!("{heading}.")), sentence].into_iter().flatten().collect::<Vec<_>>();
        return paragraph(out, terminal, &line.join(" "), str::to_owned);
    }
    let lines_max = lines_max.max(3);
    let rows = settings.differing.len();
    let shown = if rows + 1 > lines_max { lines_max - 2 } else { rows };
    let [name_width, width] = widths(compared, terminal.width);
    let mut table = Table::new(&vec![Align::Left; 1 + compared.sides.len()]).flush();
    let heads = compared.sides.iter().map(|side| cut_middle(&side.short_name(), width));
    table.row(std::iter::once(cut(&heading, name_width + 2)).chain(heads).collect());
    for setting in settings.differing.iter().take(shown) {
        let mut cells = SettingsCompared::cells(setting, [name_width, width]);
        cells[0].insert_str(0, "  ");
        table.row(cells);
    }
    table.write(out, terminal.width, |row, column, text| match (row, column) {
        (0, 0) => terminal.bold(text),
        (0, _) => terminal.dim(text),
        _ if text == NOT_RECORDED => terminal.dim(text),
        _ => text.to_owned(),
    })?;
    let more = rows - shown;
    if more > 0 {
        let untold = rows - settings.told().max(shown);
        let untold = match untold {
            0 => String::new(),
            untold => format!(", {untold} of them not recorded on one side"),
        };
        writeln!(out, "  {}", terminal.dim(&format!("{more} more with --full{untold}")))?;
    }
    Ok(())
}

/// A table of what changed for each later side, or why there is none.
fn write_changes(
    names: &[String],
    changes: &[Changed],
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (place, changed) in (1..).zip(changes) {
        writeln!(out)?;
        match changed {
            Ok(change) => {
                let [causes, culprits] =
                    [change::causes(change, ROWS_MAX), change::culprits(change, ROWS_MAX)];
                write_change(names, place, change, [&causes, &culprits], terminal, out)?;
                for line in textwrap::wrap(&change::worst_of(change), terminal.width - 2) {
                    writeln!(out, "  {}", terminal.dim(&line))?;
                }
            }
            Err(why) => paragraph(out, terminal, &no_change(names, place, why), str::to_owned)?,
        }
    }
    Ok(())
}

/// Why there is no table of what changed, in a sentence.
pub(super) fn no_change(names: &[String], place: usize, why: &str) -> String {
    format!("What changed from {} to {} is not known: {}.", names[0], names[place], clean(why))
}

/// Columns of a name in a table of changes at most, and of each of its numbers.
const CHANGED_NAME_WIDTH: usize = 44;
const CHANGED_WIDTH: usize = 16;

/// The table of what changed: causes, then culprits, then all.
pub(super) fn write_change(
    names: &[String],
    place: usize,
    change: &Change,
    [causes, culprits]: [&[ChangeLine]; 2],
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    const INDENT: usize = 5;
    let columns = (terminal.width - INDENT - 2 * (CHANGED_WIDTH + 2)).min(CHANGED_NAME_WIDTH);
    let numbers = |mean: &str, worst: &str| {
        let room = CHANGED_WIDTH;
        format!("  {mean:>room$}  {worst:>room$}")
    };
    let head = padded(&format!("What changed, {} → {}", names[0], names[place]), INDENT + columns);
    let heads = numbers("mean of all", "worst 1 % mean");
    writeln!(out, "{}{}", terminal.bold(&head), terminal.dim(&heads))?;
    let row = |letter: &str, name: &str, adds: ChangeOf| {
        let numbers = numbers(&change::exact(adds.mean_ns), &change::exact(adds.worst_ns));
        format!("  {letter}  {}{numbers}", padded(name, columns))
    };
    for line in causes {
        let letter = match line.cause {
            Some(cause) => terminal.on_cause(cause, &line.letter()),
            None => " ".to_owned(),
        };
        writeln!(out, "{}", row(&letter, &line.name, line.adds))?;
    }
    writeln!(out, "{}", row(" ", "together", change.total))?;
    if !culprits.is_empty() {
        writeln!(out, "  {}", terminal.dim("the same by culprit:"))?;
    }
    for line in culprits {
        writeln!(out, "{}", row(" ", &line.name, line.adds))?;
    }
    Ok(())
}

/// Cut or filled up to so many columns.
fn padded(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let room = " ".repeat(columns - text.width());
    text + &room
}

/// A line or more for each gate.
pub(super) fn write_gates(
    compared: &Compared,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    for gate in &compared.gates {
        paragraph(out, terminal, &gate.sentence(), |line| match gate.verdict() {
            GateVerdict::Passed => line.to_owned(),
            GateVerdict::Failed | GateVerdict::Undecided => terminal.warn(line),
        })?;
    }
    Ok(())
}

/// `before: runs/1.hist (histogram), kernel 6.1.0 · host zynq`, clean.
pub(super) fn side_line(side: &SideFacts) -> String {
    let circumstances: Vec<String> = side
        .circumstances
        .iter()
        .map(|(name, value)| format!("{} {}", clean(name), clean_cut(value, 60)))
        .collect();
    let mut line =
        format!("{}: {} ({})", side.short_name(), clean_cut(&side.given, 80), side.kind.name());
    if !circumstances.is_empty() {
        line.push_str(", ");
        line.push_str(&circumstances.join(" · "));
    }
    line
}

pub(super) fn paragraph(
    out: &mut dyn Write,
    terminal: Terminal,
    text: &str,
    paint: impl Fn(&str) -> String,
) -> io::Result<()> {
    let options = textwrap::Options::new(terminal.width).subsequent_indent("  ");
    for line in textwrap::wrap(text, options) {
        writeln!(out, "{}", paint(&line))?;
    }
    Ok(())
}

/// The figures of one subject.
fn write_subject(subject: &Subject, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let lines = table::lines(subject);
    // Two sides and their difference stand in one table, as long as there is room.
    let sides = subject.sides.len();
    let pairs: Vec<usize> = (1..sides).collect();
    if sides == 2 && terminal.width >= 80 {
        write_lines(subject, &lines, &pairs, terminal, out)?;
    } else {
        write_lines(subject, &lines, &[], terminal, out)?;
        let per_table = ((terminal.width - 8) / PAIR_WIDTH).max(1);
        for pairs in pairs.chunks(per_table) {
            writeln!(out)?;
            let compared: Vec<&Line> = lines
                .iter()
                .filter(|line| pairs.iter().any(|at| line.differences[at - 1].is_some()))
                .collect();
            write_differences(subject, &compared, pairs, terminal, out)?;
        }
    }
    let basis = (1..sides).filter_map(|place| basis_sentence(subject, place));
    let tails = subject.sides.iter().filter_map(|side| side.tail.clone());
    for sentence in std::iter::once(table::legend(subject, &lines)).chain(basis).chain(tails) {
        for line in textwrap::wrap(&clean(&sentence), terminal.width - 2) {
            writeln!(out, "  {}", terminal.dim(&line))?;
        }
    }
    Ok(())
}

/// Figures of all sides, and the differences of some pairs.
pub(super) fn write_lines(
    subject: &Subject,
    lines: &[Line],
    pairs: &[usize],
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let sides = subject.sides.len();
    let mut columns = vec![Align::Left];
    columns.resize(1 + sides, Align::Right);
    let mut heads = vec![String::new()];
    heads.extend((0..sides).map(|place| name(subject, place)));
    for &place in pairs {
        columns.extend([Align::Left, Align::Right]);
        heads.extend([table::difference_head(subject, place), "p".to_owned()]);
    }
    let mut table = Table::new(&columns);
    table.row(heads);
    for line in lines {
        let mut row = vec![line.name.clone()];
        row.extend(line.sides.iter().cloned());
        row.extend(pairs.iter().flat_map(|place| cells(line, *place)));
        table.row(row);
    }
    table.write(out, terminal.width, |row, column, text| {
        if row == 0 || column == 0 { terminal.dim(text) } else { text.to_owned() }
    })
}

fn write_differences(
    subject: &Subject,
    lines: &[&Line],
    pairs: &[usize],
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut columns = vec![Align::Left];
    let mut heads = vec![String::new()];
    for &place in pairs {
        columns.extend([Align::Left, Align::Right]);
        heads.extend([table::difference_head(subject, place), "p".to_owned()]);
    }
    let mut table = Table::new(&columns);
    table.row(heads);
    for line in lines {
        let mut row = vec![line.name.clone()];
        row.extend(pairs.iter().flat_map(|place| cells(line, *place)));
        table.row(row);
    }
    table.write(out, terminal.width, |row, column, text| {
        if row == 0 || column == 0 { terminal.dim(text) } else { text.to_owned() }
    })
}

fn cells(line: &Line, place: usize) -> [String; 2] {
    line.differences[place - 1].clone().map_or_else(Default::default, |(value, p)| [value, p])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::fixture;
    use crate::text::{WIDTH_MAX, WIDTH_MIN};
    use unicode_width::UnicodeWidthStr;

    fn text(compared: &Compared, width: usize) -> String {
        let mut out = Vec::new();
        compare_text(compared, Terminal { width, colour: false }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn two_sides_as_a_reader_sees_them() {
        insta::assert_snapshot!(text(&fixture::compared(&[0, 5_000]), 100));
    }

    #[test]
    fn three_sides_as_a_reader_sees_them() {
        insta::assert_snapshot!(text(&fixture::compared(&[0, 5_000, 800]), 100));
    }

    #[test]
    fn it_fits_and_holds_no_foreign_escape() {
        let mut compared = fixture::compared(&[0, 5_000, 300, 7_000_000, 20]);
        compared.subjects[0].name = "storm\u{1b}[2J".to_owned();
        compared.sides[0].given = "a\u{1b}[2J".to_owned();
        compared.sides[1].circumstances[0].1 = "6\u{9b}2J".to_owned();
        compared.warnings.push("a \u{202e} turn".to_owned());
        compared.subjects.push(fixture::too_few());
        for asked in [0, 60, 80, 100, 500] {
            let text = text(&compared, asked);
            let width = asked.clamp(WIDTH_MIN, WIDTH_MAX);
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
            for line in text.lines() {
                assert!(line.width() <= width, "{} > {width}: {line}", line.width());
            }
        }
    }

    #[test]
    fn what_lies_above_the_bins_is_marked_and_not_compared() {
        let mut compared = fixture::compared(&[0, 5_000]);
        let side = &mut compared.subjects[0].sides[1];
        side.over_bins = side.sample.count() / 50;
        let text = text(&compared, 100);
        let line = |name: &str| {
            let is_it = |line: &&str| line.trim_start().starts_with(&format!("{name} "));
            text.lines().find(is_it).unwrap_or_default()
        };
        assert!(line("p50").contains("+5.00 µs") && !line("p50").contains("beyond"), "{text}");
        for name in ["mean", "p99"] {
            assert!(line(name).contains("beyond") && !line(name).contains('…'), "{text}");
        }
        assert!(text.contains("above the histogram's bins"), "{text}");
    }
}
