//! How late, in one line; where nothing was explained, a line for each thread that measured.

use super::measured;
use crate::clean::cut;
use crate::data::Data;
use crate::section::figures;
use crate::text::Terminal;
use crate::units::count as in_thousands;
use std::io::{self, Write};

pub(super) fn write(data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    if data.explanation.is_none() {
        return measured::write(data, terminal, out);
    }
    let latencies = data.latencies();
    let count = latencies.count();
    let mut figures = figures(&latencies, data.noun());
    if figures.is_empty() {
        return Ok(());
    }
    // Of fewer values it is the largest, which is shown as that.
    figures.retain(|figure| match figure.name {
        "p99" => count >= 100,
        "p99.9" => count >= 1000,
        _ => true,
    });
    let words: Vec<String> =
        figures.iter().map(|figure| format!("{} {}", figure.name, figure.value)).collect();
    let line = format!("Lateness  {} · n {}", words.join(" · "), in_thousands(count));
    let line = cut(&line, terminal.width);
    let rest = line.strip_prefix("Lateness").unwrap_or_default();
    writeln!(out, "{}{rest}", terminal.bold("Lateness"))
}
