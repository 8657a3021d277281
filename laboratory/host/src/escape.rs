//! Text from the system on its way to a terminal.

use std::fmt::Write;

/// `text` with everything that could steer a terminal or hide text written out: control characters,
/// line ends, and the invisible characters that reverse or join the text around them.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() && u32::from(c) < 0x100 => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn what_steers_a_terminal_is_written_out() {
        for (given, shown) in [
            ("6.18.44-rt µs ✓", "6.18.44-rt µs ✓"),
            ("a\x1b[2Jb", "a\\x1b[2Jb"),
            ("a\r\nb\tc\0", "a\\x0d\\nb\\tc\\x00"),
            ("\u{9b}31m", "\\x9b31m"),
            ("\u{202e}gnp.exe", "\\u{202e}gnp.exe"),
        ] {
            assert_eq!(printable(given), shown);
        }
    }
}
