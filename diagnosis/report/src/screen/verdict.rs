//! What ran, how late it was, who it was, and what would help.

use super::first_lines;
use super::predicted;
use crate::clean::{clean, cut};
use crate::data::Data;
use crate::sentences::{short_sentences, top_sentences};
use crate::text::Terminal;
use crate::units::duration;
use std::io::{self, Write};

/// Lines of the sentences; what is longer is cut.
const LINES: usize = 5;

/// The same where predictions follow.
const LINES_BEFORE_PREDICTIONS: usize = 4;

/// On terminals that are narrower than this a sentence takes more lines.
const NARROW: usize = 90;
const LINES_IF_NARROW: usize = 1;

pub(super) fn write(data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let facts = facts(data);
    if !facts.is_empty() {
        writeln!(out, "{}", terminal.dim(&cut(&facts, terminal.width)))?;
    }
    let lines_max = match predicted::lines(data) {
        0 => LINES,
        _ => LINES_BEFORE_PREDICTIONS,
    };
    let lines_max = lines_max + if terminal.width < NARROW { LINES_IF_NARROW } else { 0 };
    // A number and its per cent stay together.
    let text = |sentences: Vec<String>| sentences.join(" ").replace(" %", "\u{a0}%");
    let mut text_shown = text(top_sentences(data));
    if textwrap::wrap(&text_shown, terminal.width).len() > lines_max {
        text_shown = text(short_sentences(data));
    }
    let lines = textwrap::wrap(&text_shown, terminal.width);
    for line in first_lines(&lines, lines_max, terminal.width) {
        let line = line.replace('\u{a0}', " ");
        writeln!(out, "{}", terminal.bold(&line))?;
    }
    predicted::write(data, terminal, out)
}

/// The circumstances in one line, clean.
fn facts(data: &Data<'_>) -> String {
    let context = data.context;
    let mut facts = Vec::new();
    let mut fact = |before: &str, value: &str| {
        if !value.is_empty() {
            facts.push(format!("{before}{}", clean(value)));
        }
    };
    fact("", &context.host);
    fact("", &context.kernel);
    fact("load ", context.load.as_deref().unwrap_or_default());
    fact("", &context.source);
    if context.duration_ns > 0 {
        fact("", &duration(context.duration_ns));
    }
    // Its time is whatever ran then: who reads the rest has to know.
    fact("guest of ", context.hypervisor.as_deref().unwrap_or_default());
    facts.join(" · ")
}
