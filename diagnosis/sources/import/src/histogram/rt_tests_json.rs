//! What the JSON of all of rt-tests' programs has in common (`--json`).

use super::ROWS_MAX;
use super::row::{Filled, Histograms, Row};
use crate::{ImportError, Input};
use serde_json::{Map, Value};
use std::io::Read as _;
use std::path::PathBuf;

/// The most bytes of such a file. A bin takes some 16.
const BYTES_MAX: u64 = 64 << 20;

/// A thread with its number.
type Thread<'a> = (u32, &'a Map<String, Value>);

/// A file that is being read.
pub(super) struct Document {
    path: PathBuf,
    format: &'static str,
    root: Map<String, Value>,
}

/// Whether `head` begins a JSON document of rt-tests that has all of `keys`.
pub(super) fn has_keys(head: &[u8], keys: &[&str]) -> bool {
    let Some(text) = head.trim_ascii_start().strip_prefix(b"{") else { return false };
    keys.iter().all(|key| {
        let quoted = format!("\"{key}\"");
        text.windows(quoted.len()).any(|window| window == quoted.as_bytes())
    })
}

impl Document {
    pub(super) fn read(input: Input, format: &'static str) -> Result<Self, ImportError> {
        let path = input.path().to_owned();
        let mut text = Vec::new();
        let read = input.take(BYTES_MAX + 1).read_to_end(&mut text);
        read.map_err(|source| ImportError::Io { path: path.clone(), source })?;
        let broken = |at, why| ImportError::Broken { path: path.clone(), format, at, why };
        if text.len() as u64 > BYTES_MAX {
            return Err(broken(BYTES_MAX, format!("it is longer than {} MiB", BYTES_MAX >> 20)));
        }
        let root = serde_json::from_slice(&text).map_err(|error| {
            let before: usize = text
                .split_inclusive(|byte| *byte == b'\n')
                .take(error.line().saturating_sub(1))
                .map(<[u8]>::len)
                .sum();
            broken((before + error.column()) as u64, error.to_string())
        })?;
        Ok(Self { path, format, root })
    }

    pub(super) fn broken(&self, why: impl Into<String>) -> ImportError {
        let (path, format) = (self.path.clone(), self.format);
        ImportError::Broken { path, format, at: 0, why: why.into() }
    }

    /// A number at the top; `None` where it is not there.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.root.get(key)?.as_u64()
    }

    fn text(&self, key: &str) -> String {
        self.root.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// What it says of where it comes from.
    pub(super) fn histograms(&self, tool: &'static str, unit_ns: u64) -> Histograms {
        Histograms {
            tool,
            version: self.text("rt_test_version:"),
            // The colon is in the key.
            command_line: self.text("cmdline:"),
            unit_ns,
            bin_ns: unit_ns,
            ..Histograms::default()
        }
    }

    /// Its threads, in the order of their numbers.
    pub(super) fn threads(&self) -> Result<Vec<Thread<'_>>, ImportError> {
        let threads = self.root.get("thread").and_then(Value::as_object);
        let threads = threads.ok_or_else(|| self.broken("it has no object `thread`"))?;
        if threads.len() > ROWS_MAX {
            return Err(self.broken(format!("{} threads; {ROWS_MAX} can be read", threads.len())));
        }
        let mut read = Vec::new();
        for (number, thread) in threads {
            let wrong = || self.broken(format!("thread {number:.40} is not one"));
            let key = number.parse().map_err(|_| wrong())?;
            read.push((key, thread.as_object().ok_or_else(wrong)?));
        }
        read.sort_unstable_by_key(|(number, _)| *number);
        Ok(read)
    }

    /// A thread's row, with bins that each begin `before` units before what they are called.
    pub(super) fn row(
        &self,
        number: u32,
        thread: &Map<String, Value>,
        (unit_ns, before): (u64, u64),
        filled: &mut Filled,
    ) -> Result<Row, ImportError> {
        let wrong = |what: String| self.broken(format!("thread {number}: {what}"));
        let count_of = |key: &str, value: &Value| {
            value.as_u64().ok_or_else(|| wrong(format!("`{key:.40}` is not a count")))
        };
        let time_ns = |units: u64| {
            let ns = units.checked_mul(unit_ns);
            ns.ok_or_else(|| wrong(format!("{units} units of {unit_ns} ns are over 584 years")))
        };
        let told_ns = |key: &str| match thread.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => time_ns(count_of(key, value)?).map(Some),
        };
        let mut row = Row {
            name: format!("thread {number}"),
            cpu: thread.get("cpu").and_then(Value::as_u64).and_then(|cpu| u32::try_from(cpu).ok()),
            min_ns: told_ns("min")?,
            max_ns: told_ns("max")?,
            mean_ns: thread.get("avg").and_then(Value::as_f64).map(|avg| avg * unit_ns as f64),
            ..Row::default()
        };
        let bins = thread.get("histogram").and_then(Value::as_object);
        for (bin, count) in bins.into_iter().flatten() {
            let units: u64 = bin.parse().map_err(|_| wrong(format!("`{bin:.40}` is not a bin")))?;
            let from_ns = time_ns(units.saturating_sub(before))?;
            filled.add(&mut row, from_ns, count_of(bin, count)?).map_err(wrong)?;
        }
        Ok(row)
    }
}
