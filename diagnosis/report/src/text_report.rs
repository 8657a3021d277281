//! The whole report as text for a terminal, or for a file.

use crate::data::Data;
use crate::section::SECTIONS;
use crate::text::Terminal;
use std::io::{self, Write};

/// Writes the report as text: every section that has anything to say, an empty line between.
///
/// # Errors
/// Where `out` cannot be written.
pub fn terminal(data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let mut first = true;
    let terminal = terminal.clamped();
    for section in SECTIONS {
        let mut text = Vec::new();
        section.terminal(data, terminal, &mut text)?;
        if text.is_empty() {
            continue;
        }
        if !first {
            writeln!(out)?;
        }
        first = false;
        out.write_all(&text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::text::{WIDTH_MAX, WIDTH_MIN};

    fn text(data: &Data<'_>, terminal_is: Terminal) -> String {
        let mut out = Vec::new();
        terminal(data, terminal_is, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn whole_report() {
        fixture::with_data(|data| insta::assert_snapshot!(text(data, Terminal::default())));
    }

    #[test]
    fn measurement_only() {
        fixture::with_measurement_only(|data| {
            insta::assert_snapshot!(text(data, Terminal::default()));
        });
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_none_holds_a_foreign_escape() {
        use unicode_width::UnicodeWidthStr;
        fixture::with_data(|data| {
            for asked in [0, WIDTH_MIN, 80, 100, WIDTH_MAX, 500] {
                let text = text(data, Terminal { width: asked, colour: false });
                let width = asked.clamp(WIDTH_MIN, WIDTH_MAX);
                assert!(!text.contains('\u{1b}'));
                for line in text.lines() {
                    assert!(line.width() <= width, "{} > {width}: {line}", line.width());
                }
            }
        });
    }

    #[test]
    fn colour_adds_escapes_and_nothing_else() {
        fixture::with_data(|data| {
            let plain = text(data, Terminal::default());
            let coloured = text(data, Terminal { colour: true, ..Terminal::default() });
            assert!(coloured.contains("\u{1b}["));
            assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
        });
    }
}
