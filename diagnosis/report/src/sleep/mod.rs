//! A comparison of sleeps as text: what was done, figures, shares per microsecond, differences, and
//! what they amount to in sentences.

mod differences;
mod figures;
pub(crate) mod shares;
mod verdict;

pub use verdict::sleep_sentences;

use crate::text::Terminal;
use crate::units::{count, duration};
use std::io::{self, Write};
use tardy_lab::sleep::{Comparison, SleepMeasurement};

/// Writes a comparison of sleeps as text; `all_pairs` shows each two methods' difference, else
/// those of neighbours in the order of means.
///
/// # Errors
/// Where `out` cannot be written.
pub fn sleep_text(
    measurement: &SleepMeasurement,
    comparison: &Comparison,
    all_pairs: bool,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let terminal = terminal.clamped();
    writeln!(out, "{}", terminal.bold(&format!("Sleeps of {}", duration(measurement.request_ns))))?;
    for line in textwrap::wrap(&conditions(measurement, comparison), terminal.width) {
        writeln!(out, "{line}")?;
    }
    if measurement.rounds > 0 {
        writeln!(out)?;
        figures::write(measurement, terminal, out)?;
        shares::write(measurement, terminal, out)?;
        differences::write(measurement, comparison, all_pairs, terminal, out)?;
    }
    for sentence in sleep_sentences(measurement, comparison) {
        let options = textwrap::Options::new(terminal.width).subsequent_indent("  ");
        for line in textwrap::wrap(&sentence, options) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// What a reader must know of how the numbers came about.
fn conditions(measurement: &SleepMeasurement, comparison: &Comparison) -> String {
    let m = measurement;
    let mut facts = vec![
        format!("{} rounds of all methods in random order (seed {})", count(m.rounds), m.seed),
        format!("{} before them discarded", count(m.warm_up_rounds)),
        if m.prio > 0 {
            format!("{} {}", m.policy.kernel_name(), m.prio)
        } else {
            m.policy.kernel_name().to_owned()
        },
        m.cpu.map_or_else(|| "any CPU".to_owned(), |cpu| format!("CPU {cpu}")),
        format!("the thread's timer slack {}", duration(m.slack_ns)),
        format!("CPU time less {} for reading it", duration(m.cpu_clock_ns)),
        format!(
            "95 % intervals: quantiles by ranks, means by resampling {} blocks of {} rounds",
            count(comparison.blocks.resamples as u64),
            count(comparison.blocks.length as u64)
        ),
    ];
    if m.interrupted > 0 {
        facts.push(format!("{} rounds cut short by signals are not counted", count(m.interrupted)));
    }
    facts.join(" · ")
}

/// The letter that stands for a method where its name has no room.
pub(crate) fn letter(place: usize) -> String {
    let letter = char::from(b'a' + (place % 26) as u8);
    letter.to_string().repeat(1 + place / 26)
}

/// Microseconds with a digit after the point, for columns whose head says the unit.
fn us(ns: f64) -> String {
    format!("{:.1}", ns / 1000.0)
}

#[cfg(test)]
pub(crate) mod fixture;

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    fn text(all_pairs: bool, width: usize) -> String {
        let measurement = fixture::measurement(50_000, 2_000);
        let comparison = tardy_lab::sleep::compare(&measurement);
        let mut out = Vec::new();
        let terminal = Terminal { width, colour: false };
        sleep_text(&measurement, &comparison, all_pairs, terminal, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn as_a_reader_sees_it() {
        insta::assert_snapshot!(text(false, 100));
    }

    #[test]
    fn all_pairs_are_there_and_no_line_is_too_wide() {
        for width in [60, 80, 140] {
            let text = text(true, width);
            for line in text.lines() {
                assert!(line.width() <= width, "{width}: {line}");
            }
            let is_pair = |line: &&str| line.chars().nth(4) == Some('−');
            assert_eq!(text.lines().filter(is_pair).count(), 6, "{text}");
        }
    }

    #[test]
    fn without_a_round_there_is_only_what_was_to_be_done() {
        let measurement = fixture::measurement(50_000, 0);
        let comparison = tardy_lab::sleep::compare(&measurement);
        let mut out = Vec::new();
        sleep_text(&measurement, &comparison, false, Terminal::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("0 rounds") && !text.contains("mean "), "{text}");
    }
}
