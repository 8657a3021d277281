//! A text, line by line, each of bounded length; and the numbers in it.

use crate::{ImportError, Input};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;

/// The longest line that is read, in bytes: two hundred thousand counts.
const LINE_MAX_BYTES: usize = 2 << 20;

/// Lines of a file, with where they are.
pub(super) struct Lines {
    reader: BufReader<Input>,
    path: PathBuf,
    format: &'static str,
    /// The current line, counted from 1.
    number: u64,
    /// Where the current line begins.
    at: u64,
    next_at: u64,
    bytes: Vec<u8>,
}

impl Lines {
    pub(super) fn new(input: Input, format: &'static str) -> Self {
        let path = input.path().to_owned();
        let reader = BufReader::new(input);
        Self { reader, path, format, number: 0, at: 0, next_at: 0, bytes: Vec::new() }
    }

    /// Puts the next line into `line`, without its end; `false` where there is none.
    pub(super) fn next(&mut self, line: &mut String) -> Result<bool, ImportError> {
        self.bytes.clear();
        self.number += 1;
        self.at = self.next_at;
        let mut limited = (&mut self.reader).take(LINE_MAX_BYTES as u64 + 1);
        let read = limited.read_until(b'\n', &mut self.bytes);
        let read = read.map_err(|source| ImportError::Io { path: self.path.clone(), source })?;
        self.next_at += read as u64;
        if read > LINE_MAX_BYTES {
            return Err(self.broken(format!("it is longer than {LINE_MAX_BYTES} bytes")));
        }
        let text = std::str::from_utf8(unquoted(&self.bytes))
            .map_err(|_| self.broken("it is no text".to_owned()))?;
        line.clear();
        line.push_str(text.trim_end_matches(['\n', '\r']));
        Ok(read > 0)
    }

    /// The error that something is wrong in the current line.
    pub(super) fn broken(&self, why: impl Into<String>) -> ImportError {
        ImportError::Broken {
            path: self.path.clone(),
            format: self.format,
            at: self.at,
            why: format!("line {}: {}", self.number, why.into()),
        }
    }

    /// The error that a line is not there.
    pub(super) fn missing(&self, what: &str) -> ImportError {
        ImportError::Broken {
            path: self.path.clone(),
            format: self.format,
            at: self.next_at,
            why: format!("it ends without {what}: is the file whole?"),
        }
    }

    /// A whole number.
    pub(super) fn number(&self, word: &str) -> Result<u64, ImportError> {
        word.parse().map_err(|_| self.broken(format!("`{}` is not a count", shown(word))))
    }

    /// Whole numbers, between white space.
    pub(super) fn numbers(&self, text: &str) -> Result<Vec<u64>, ImportError> {
        text.split_ascii_whitespace().map(|word| self.number(word)).collect()
    }

    /// A time of `text` units of `unit_ns`.
    pub(super) fn time_ns(&self, units: u64, unit_ns: u64) -> Result<u64, ImportError> {
        units.checked_mul(unit_ns).ok_or_else(|| {
            self.broken(format!("{units} units of {unit_ns} ns are more than 584 years"))
        })
    }

    /// A mean of `word` units of `unit_ns`; `None` where the tool writes that there is none.
    pub(super) fn mean_ns(&self, word: &str, unit_ns: u64) -> Result<Option<f64>, ImportError> {
        if is_nothing(word) {
            return Ok(None);
        }
        match word.parse::<f64>() {
            Ok(mean) if mean.is_finite() && mean >= 0.0 => Ok(Some(mean * unit_ns as f64)),
            _ => Err(self.broken(format!("`{}` is not a mean", shown(word)))),
        }
    }
}

/// A line without the marks of a mail that quotes it; none of the formats has such lines of its own.
pub(super) fn unquoted(line: &[u8]) -> &[u8] {
    let mut line = line;
    while let Some(rest) = line.strip_prefix(b">") {
        line = rest.strip_prefix(b" ").unwrap_or(rest);
    }
    line
}

/// How the tools write that there is no such number.
pub(super) fn is_nothing(word: &str) -> bool {
    // An unsigned −1: a minimum of nothing.
    matches!(word, "-" | "nan" | "-nan" | "18446744073709551615")
}

/// A word from a file, short enough for a message.
fn shown(word: &str) -> String {
    word.chars().take(40).flat_map(char::escape_debug).collect()
}
