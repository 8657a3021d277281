//! One wakeup as a story, for a terminal.

use crate::clean::clean;
use crate::section::headline;
use crate::text::Terminal;
use crate::units::duration;
use std::io::{self, Write};
use tardy_explain::{Explanation, Sentence, WorstWakeup, why};

/// Tells one of the explanation's worst wakeups in order: a sentence for each thing that happened, with
/// its time in seconds, as an offset from the expiry, its CPU where that is known, and the event that
/// tells it.
///
/// # Errors
/// Where `out` cannot be written.
pub fn why_text(
    explanation: &Explanation,
    worst: &WorstWakeup,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let width = terminal.clamped().width;
    let options = textwrap::Options::new(width).subsequent_indent("  ");
    for line in textwrap::wrap(&headline(explanation, worst), options) {
        writeln!(out, "{}", terminal.bold(&line))?;
    }
    for sentence in why(worst, &explanation.patterns) {
        let text = format!("{} {}", stamp(worst, &sentence), clean(&sentence.text));
        let options = textwrap::Options::new(width).subsequent_indent("    ");
        for line in textwrap::wrap(&text, options) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// `12165.412248000 (+19.0 µs) CPU 1 sched_pi_setprio:`; what is told of the whole has no time.
fn stamp(worst: &WorstWakeup, sentence: &Sentence) -> String {
    if is_of_the_whole(sentence) {
        return format!("{}:", sentence.event);
    }
    let ns = sentence.time_ns;
    let cpu = sentence.cpu.map_or_else(String::new, |cpu| format!("CPU {cpu} "));
    let (seconds, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
    format!("{seconds}.{rest:09} ({}) {cpu}{}:", offset(worst, ns), sentence.event)
}

/// Whether a sentence is about all of the wakeup rather than about a moment.
pub(crate) fn is_of_the_whole(sentence: &Sentence) -> bool {
    matches!(sentence.event, "sum" | "pattern")
}

/// "+19.0 µs" after the expiry, or "-1.00 ms" before it.
pub(crate) fn offset(worst: &WorstWakeup, time_ns: u64) -> String {
    match time_ns.checked_sub(worst.wakeup.expiry_ns) {
        Some(after_ns) => format!("+{}", duration(after_ns)),
        None => format!("-{}", duration(worst.wakeup.expiry_ns - time_ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::text::{WIDTH_MAX, WIDTH_MIN};
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn as_a_reader_sees_it() {
        let explanation = fixture::boosted();
        let mut out = Vec::new();
        why_text(&explanation, &explanation.worst[0], Terminal::default(), &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_names_command_nothing() {
        let mut explanation = fixture::boosted();
        for label in explanation.worst[0].labels.values_mut() {
            fixture::HOSTILE.clone_into(&mut label.name);
        }
        for width in [0, WIDTH_MIN, WIDTH_MAX, 500] {
            let mut out = Vec::new();
            let terminal = Terminal { width, colour: false };
            why_text(&explanation, &explanation.worst[0], terminal, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.contains("\\u{1b}") && !text.contains('\u{1b}'));
            for line in text.lines() {
                assert!(line.width() <= width.clamp(WIDTH_MIN, WIDTH_MAX), "{line}");
            }
        }
    }
}
