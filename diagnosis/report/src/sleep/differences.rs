//! Differences between methods: of means and medians, in ranks, and whether chance makes such.

use super::{letter, us};
use crate::text::{Align, Table, Terminal};
use std::io::{self, Write};
use tardy_lab::sleep::{Comparison, Pair, SleepMeasurement};
use tardy_stats::Interval;

const HEADS: [&str; 6] = ["µs", "mean (95 %)", "median (95 %)", "A", "δ", "p"];

pub(super) fn write(
    measurement: &SleepMeasurement,
    comparison: &Comparison,
    all_pairs: bool,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = Table::new(&[
        Align::Left,
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
    ])
    .can_do_without(&[4, 2]);
    table.row(HEADS.map(str::to_owned).into());
    for pair in shown(measurement, comparison, all_pairs) {
        table.row(vec![
            format!("{} − {}", letter(pair.one), letter(pair.two)),
            with_interval(pair.mean),
            with_interval(pair.median),
            format!("{:.3}", pair.test.a),
            format!("{:+.3}", pair.test.cliffs_delta()),
            probability(pair.p_adjusted),
        ]);
    }
    table.write(out, terminal.width, |row, _, text| {
        if row == 0 { terminal.dim(text) } else { text.to_owned() }
    })?;
    let legend = "A: how often the first takes longer than the second, ties half \
                  (Vargha-Delaney); δ = 2A − 1 (Cliff); p: Mann-Whitney, corrected by Holm for \
                  all pairs. The test treats samples as independent; the intervals of means do \
                  not.";
    for line in textwrap::wrap(legend, terminal.width - 2) {
        writeln!(out, "  {}", terminal.dim(&line))?;
    }
    writeln!(out)
}

/// All pairs, or neighbours in the order of means with the longer one first.
fn shown(measurement: &SleepMeasurement, comparison: &Comparison, all_pairs: bool) -> Vec<Pair> {
    if all_pairs {
        return comparison.pairs.clone();
    }
    let mut order: Vec<usize> = (0..measurement.methods.len()).collect();
    let mean_ns = |place: usize| measurement.methods[place].elapsed.mean_ns();
    order.sort_by(|&one, &two| mean_ns(one).total_cmp(&mean_ns(two)));
    order.windows(2).filter_map(|next| comparison.between(next[1], next[0])).collect()
}

/// `+50.0 (+49.9–+50.1)`: signs, because intervals may hold 0.
fn with_interval(Interval { value, low, high }: Interval) -> String {
    let signed = |ns: f64| {
        if ns.is_infinite() {
            "?".to_owned()
        } else {
            format!("{:+.2}", (ns / 10.0).round() / 100.0 + 0.0)
        }
    };
    format!("{} ({} … {})", signed(value), signed(low), signed(high))
}

/// `0.034`, `<0.001`: below, only that it is small can be told of an approximation.
pub(super) fn probability(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// `50.2 µs (95 % interval 50.0–50.4)`.
pub(super) fn in_words(Interval { value, low, high }: Interval) -> String {
    let ends = if low.is_finite() && high.is_finite() {
        format!(" (95 % interval {}–{})", us(low), us(high))
    } else {
        String::new()
    };
    format!("{} µs{ends}", us(value))
}
