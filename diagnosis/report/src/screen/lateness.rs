//! How late, in one line; where nothing was explained, a line for each thread that measured.

use super::measured;
use crate::clean::cut;
use crate::data::Data;
use crate::section::figures;
use crate::text::Terminal;
use std::io::{self, Write};

pub(super) fn write(data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    if data.explanation.is_none() {
        return measured::write(data, terminal, out);
    }
    let figures = figures(&data.latencies(), data.noun());
    if figures.is_empty() {
        return Ok(());
    }
    let words: Vec<String> =
        figures.iter().map(|figure| format!("{} {}", figure.name, figure.value)).collect();
    let line = cut(&format!("Lateness  {}", words.join(" · ")), terminal.width);
    let rest = line.strip_prefix("Lateness").unwrap_or_default();
    writeln!(out, "{}{rest}", terminal.bold("Lateness"))
}
