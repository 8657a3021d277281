//! Mean, quantiles, extremes and CPU time of each method.

use super::{letter, us};
use crate::text::{Align, Table, Terminal};
use crate::units::count;
use std::io::{self, Write};
use tardy_lab::sleep::SleepMeasurement;
use tardy_stats::{Latencies, Quantile};

/// The quantiles shown, each with its interval.
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];

pub(super) fn write(
    measurement: &SleepMeasurement,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let head = |row: usize, _: usize, text: &str| {
        if row == 0 { terminal.dim(text) } else { text.to_owned() }
    };
    let mut columns = vec![Align::Left];
    columns.resize(6, Align::Right);
    columns.push(Align::Left);
    let mut table = Table::new(&columns).can_do_without(&[1]);
    table.row(["µs", "n", "mean", "min", "max", "CPU", ""].map(str::to_owned).into());
    for (place, method) in measurement.methods.iter().enumerate() {
        let elapsed = &method.elapsed;
        table.row(vec![
            letter(place),
            count(elapsed.count()),
            us(elapsed.mean_ns()),
            us(elapsed.min_ns() as f64),
            us(elapsed.max_ns() as f64),
            us(method.cpu.mean_ns()),
            method.name(),
        ]);
    }
    table.write(out, terminal.width, head)?;
    writeln!(out)?;

    let mut table = Table::new(&[Align::Left, Align::Left, Align::Left, Align::Left]);
    let mut heads = vec!["µs".to_owned()];
    heads.extend(QUANTILES.map(|(name, _)| format!("{name} (95 %)")));
    table.row(heads);
    for (place, method) in measurement.methods.iter().enumerate() {
        let mut row = vec![letter(place)];
        row.extend(QUANTILES.map(|(_, q)| with_interval(&method.elapsed, q)));
        table.row(row);
    }
    table.write(out, terminal.width, head)?;
    writeln!(out)
}

/// `54.3 (54.3–54.4)`; `54.3 (54.3–)` where too few samples bound an end.
fn with_interval(latencies: &Latencies, q: f64) -> String {
    let Quantile { ns, low_ns, high_ns } = latencies.quantile(q);
    let end = |ns: Option<u64>| ns.map_or_else(String::new, |ns| us(ns as f64));
    format!("{} ({}–{})", us(ns as f64), end(low_ns), end(high_ns))
}
