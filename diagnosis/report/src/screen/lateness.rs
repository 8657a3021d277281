//! How late, in one line; where nothing was explained, a line for each thread that measured.

use super::measured;
use crate::clean::cut;
use crate::data::Data;
use crate::section::{Figure, figures};
use crate::text::Terminal;
use crate::units::count as in_thousands;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr as _;

pub(super) fn write(data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    if data.explanation.is_none() {
        return measured::write(data, terminal, out);
    }
    let latencies = data.latencies();
    let count = latencies.count();
    let mut figures = figures(&latencies);
    if figures.is_empty() {
        return Ok(());
    }
    // Of fewer values it is the largest, which is shown as that.
    figures.retain(|figure| match figure.name {
        "p99" => count >= 100,
        "p99.9" => count >= 1000,
        _ => true,
    });
    let line = |figures: &[Figure]| {
        let words: Vec<String> =
            figures.iter().map(|figure| format!("{} {}", figure.name, figure.value)).collect();
        format!("Lateness  {} · n {}", words.join(" · "), in_thousands(count))
    };
    // No figure is cut, nor is how many they are of.
    for dispensable in ["p50", "p99.9"] {
        if line(&figures).width() > terminal.width {
            figures.retain(|figure| figure.name != dispensable);
        }
    }
    let line = cut(&line(&figures), terminal.width);
    let rest = line.strip_prefix("Lateness").unwrap_or_default();
    writeln!(out, "{}{rest}", terminal.bold("Lateness"))
}
