//! A comparison as text.

use super::GateVerdict;
use super::table::{self, Line};
use super::words::{basis_sentence, letter, verdict_sentence};
use super::{Compared, SideFacts, Subject};
use crate::clean::{clean, clean_cut};
use crate::text::{Align, Table, Terminal, WIDTH_MAX, WIDTH_MIN};
use std::io::{self, Write};

/// Columns of one pair in a table of differences: the interval and its p.
const PAIR_WIDTH: usize = 2 + 34 + 2 + 6;

/// Writes a comparison as text: what may be said, the sides, the figures, the gates.
///
/// # Errors
/// Where `out` cannot be written.
pub fn compare_text(
    compared: &Compared,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let terminal = Terminal { width: terminal.width.clamp(WIDTH_MIN, WIDTH_MAX), ..terminal };
    let has_names = compared.subjects.iter().any(|subject| !subject.name.is_empty());
    for subject in &compared.subjects {
        for place in 1..subject.sides.len() {
            let whose = if has_names {
                format!("{}: ", clean_cut(&subject.name, 40))
            } else {
                String::new()
            };
            let sentence = format!("{whose}{}", verdict_sentence(subject, place));
            paragraph(out, terminal, &sentence, |line| terminal.bold(line))?;
        }
    }
    writeln!(out)?;
    for (place, side) in compared.sides.iter().enumerate() {
        paragraph(out, terminal, &side_line(place, side), str::to_owned)?;
        for note in &side.notes {
            let note = format!("   {}", clean_cut(note, 400));
            paragraph(out, terminal, &note, |line| terminal.dim(line))?;
        }
    }
    for warning in &compared.warnings {
        paragraph(out, terminal, &clean_cut(warning, 600), |line| terminal.warn(line))?;
    }
    for subject in &compared.subjects {
        writeln!(out)?;
        if has_names {
            writeln!(out, "{}", terminal.bold(&clean_cut(&subject.name, terminal.width)))?;
        }
        write_subject(subject, terminal, out)?;
    }
    if !compared.gates.is_empty() {
        writeln!(out)?;
    }
    for gate in &compared.gates {
        paragraph(out, terminal, &gate.sentence(), |line| match gate.verdict() {
            GateVerdict::Passed => line.to_owned(),
            GateVerdict::Failed | GateVerdict::Undecided => terminal.warn(line),
        })?;
    }
    Ok(())
}

/// `A  before.hist (histogram): kernel 6.1.0 · host zynq`, clean.
pub(super) fn side_line(place: usize, side: &SideFacts) -> String {
    let circumstances: Vec<String> = side
        .circumstances
        .iter()
        .map(|(name, value)| format!("{} {}", clean(name), clean_cut(value, 60)))
        .collect();
    let mut line =
        format!("{}  {} ({})", letter(place), clean_cut(&side.given, 80), side.kind.name());
    if !circumstances.is_empty() {
        line.push_str(": ");
        line.push_str(&circumstances.join(" · "));
    }
    line
}

fn paragraph(
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

fn write_subject(subject: &Subject, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let lines = table::lines(subject);
    // Two sides and their difference stand in one table, as long as there is room.
    let sides = subject.sides.len();
    let pairs: Vec<usize> = (1..sides).collect();
    if sides == 2 && terminal.width >= 80 {
        write_lines(&lines, sides, &pairs, terminal, out)?;
    } else {
        write_lines(&lines, sides, &[], terminal, out)?;
        let per_table = ((terminal.width - 8) / PAIR_WIDTH).max(1);
        for pairs in pairs.chunks(per_table) {
            writeln!(out)?;
            let compared: Vec<&Line> = lines
                .iter()
                .filter(|line| pairs.iter().any(|at| line.differences[at - 1].is_some()))
                .collect();
            write_differences(&compared, pairs, terminal, out)?;
        }
    }
    let basis = (1..sides).filter_map(|place| basis_sentence(subject, place));
    let tails = subject.sides.iter().filter_map(|side| side.tail.clone());
    for sentence in std::iter::once(table::legend(subject)).chain(basis).chain(tails) {
        for line in textwrap::wrap(&clean(&sentence), terminal.width - 2) {
            writeln!(out, "  {}", terminal.dim(&line))?;
        }
    }
    Ok(())
}

/// Figures of all sides, and the differences of some pairs.
fn write_lines(
    lines: &[Line],
    sides: usize,
    pairs: &[usize],
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut columns = vec![Align::Left];
    columns.resize(1 + sides, Align::Right);
    let mut heads = vec![String::new()];
    heads.extend((0..sides).map(letter));
    for &place in pairs {
        columns.extend([Align::Left, Align::Right]);
        heads.extend([table::difference_head(place), "p".to_owned()]);
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
    lines: &[&Line],
    pairs: &[usize],
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut columns = vec![Align::Left];
    let mut heads = vec![String::new()];
    for &place in pairs {
        columns.extend([Align::Left, Align::Right]);
        heads.extend([table::difference_head(place), "p".to_owned()]);
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
        assert!(line("p50").contains("+5.00 µs") && !line("p50").contains('>'), "{text}");
        for name in ["mean", "p99"] {
            assert!(line(name).contains('>') && !line(name).contains('…'), "{text}");
        }
        assert!(text.contains("above the histogram's bins"), "{text}");
    }
}
