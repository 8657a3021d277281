//! JSON documents on their way out.
//!
//! JSON escapes control characters of ASCII and no others, but terminals obey more: U+009B begins a command as ESC [
//! does, and other characters turn the direction of what is around them. In a document such characters can only be in
//! strings, where `\u009b` means the same to whoever reads it.

use std::io::{self, Write};
use tardy_report::clean::is_deceptive;

/// From here on a byte may be (a part of) a character that a terminal obeys and JSON leaves as it is.
const DELETE: u8 = 0x7f;

/// Writes a document so that no terminal obeys what is in it.
pub(crate) struct Document<W> {
    out: W,
    /// The beginning of a character that was cut.
    pending: Vec<u8>,
}

impl<W: Write> Document<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, pending: Vec::new() }
    }

    pub(crate) fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> Write for Document<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.pending.is_empty() && bytes.iter().all(|byte| *byte < DELETE) {
            return self.out.write(bytes);
        }
        self.pending.extend(bytes);
        let whole = match std::str::from_utf8(&self.pending) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.pending.len(),
        };
        let text = String::from_utf8_lossy(&self.pending[..whole]);
        self.out.write_all(escaped(&text).as_bytes())?;
        self.pending.drain(..whole);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn escaped(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c >= char::from(DELETE) && is_deceptive(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String does not fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_means_the_same() {
        let name = "a\u{9b}2J\u{202e}\u{7f}\u{e0041}naïve 温度\u{1b}\n";
        let mut plain = serde_json::to_vec(&[name]).expect("a document");
        plain.push(b'\n');
        // However it is cut.
        for size in 1..plain.len() {
            let mut out = Document::new(Vec::new());
            plain.chunks(size).for_each(|chunk| out.write_all(chunk).expect("written"));
            let text = String::from_utf8(out.into_inner()).expect("text");
            assert!(
                text.contains("naïve 温度") && text.contains("\\u009b2J\\u202e\\u007f"),
                "{text}"
            );
            assert!(!text.trim_end().chars().any(is_deceptive), "{text}");
            let read: Vec<String> = serde_json::from_str(&text).expect("a document");
            assert_eq!(read, [name]);
        }
    }
}
