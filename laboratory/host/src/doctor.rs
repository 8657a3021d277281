//! A host as a table on a terminal.

use crate::check::State;
use crate::escape::printable;
use crate::host::Host;
use std::fmt::Write;
use textwrap::{Options, WrapAlgorithm};

/// Columns between which a terminal's width is taken as it is.
const WIDTH_MIN: usize = 40;
const WIDTH_MAX: usize = 120;

/// Behind a command of tardy's own, which can be copied with it.
const TRIES: &str = "  # tries it, and undoes it if it does not help";

const RESET: &str = "\x1b[0m";
const DIM: &str = "\x1b[2m";

/// The host as lines of at most `width` columns (40–120): a mark, a name and a value per check,
/// under what is not good why it matters and what changes it, then what tardy can do. With `colour`
/// marks and asides carry ANSI colours; there are no other control characters but line ends.
pub fn render(host: &Host, width: usize, colour: bool) -> String {
    let width = width.clamp(WIDTH_MIN, WIDTH_MAX);
    let checks = host.checks().iter().map(|check| {
        let notes = if check.state == State::Good {
            Vec::new()
        } else {
            let mut before = "→ ";
            let changes = check
                .changes
                .iter()
                .map(|change| (std::mem::replace(&mut before, "→ or ").to_owned(), change.clone()));
            let mut notes = vec![(String::new(), check.why.clone())];
            notes.extend(changes);
            // On one line, to be copied.
            let fix = check.fix.as_ref().map(|fix| format!("{fix}{TRIES}").replace(' ', "\u{a0}"));
            notes.extend(fix.map(|fix| ("→ ".to_owned(), fix)));
            notes
        };
        Row { state: check.state, name: check.name.replace('_', " "), value: &check.value, notes }
    });
    let abilities = host.capabilities().iter().map(|capability| {
        let lost = capability.lost.as_deref().map(|text| ("", text));
        let change = capability.change.as_deref().map(|text| ("→ ", text));
        Row {
            state: if capability.ok { State::Good } else { State::Notice },
            name: capability.name.title().to_owned(),
            value: capability.why.as_deref().unwrap_or("yes"),
            notes: lost
                .into_iter()
                .chain(change)
                .map(|(sign, text)| (sign.to_owned(), text.to_owned()))
                .collect(),
        }
    });
    let mut out = String::new();
    table(&mut out, &checks.collect::<Vec<_>>(), width, colour);
    out.push_str("\ntardy can\n");
    table(&mut out, &abilities.collect::<Vec<_>>(), width, colour);
    out
}

struct Row<'a> {
    state: State,
    name: String,
    value: &'a str,
    notes: Vec<(String, String)>,
}

fn table(out: &mut String, rows: &[Row<'_>], width: usize, colour: bool) {
    let name_columns = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    // Mark, space, name, two spaces.
    let indent = " ".repeat(name_columns + 4);
    for row in rows {
        let (mark, on) = mark(row.state);
        let (on, off) = if colour { (on, RESET) } else { ("", "") };
        let value = wrap(row.value, width, &indent, "");
        let _ = write!(out, "{on}{mark}{off} {:name_columns$}  ", row.name);
        let _ = writeln!(out, "{}", value.trim_start());
        let (on, off) = if colour { (DIM, RESET) } else { ("", "") };
        for (sign, note) in &row.notes {
            for line in wrap(note, width, &indent, sign).lines() {
                let text = line.trim_start();
                let _ = writeln!(out, "{}{on}{text}{off}", &line[..line.len() - text.len()]);
            }
        }
    }
}

/// Lines that start below the value's column, the first with `sign`.
fn wrap(text: &str, width: usize, indent: &str, sign: &str) -> String {
    let first = format!("{indent}{sign}");
    let rest = format!("{indent}{}", " ".repeat(sign.chars().count()));
    let options = Options::new(width)
        .initial_indent(&first)
        .subsequent_indent(&rest)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    // A command that writes a file can be copied: it stays on one line.
    let text = printable(text).replace("echo ", "echo\u{a0}").replace(" > /", "\u{a0}>\u{a0}/");
    textwrap::fill(&text, options).replace('\u{a0}', " ")
}

fn mark(state: State) -> (char, &'static str) {
    match state {
        State::Good => ('✓', "\x1b[32m"),
        State::Notice => ('!', "\x1b[33m"),
        State::Problem => ('✗', "\x1b[31m"),
        State::Unknown => ('?', "\x1b[36m"),
    }
}
