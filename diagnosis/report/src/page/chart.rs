//! Scales, ticks and labels of charts.

use crate::units::{count, percent};
use maud::{Markup, html};

/// A chart's edges in its own units; it is 1000 wide.
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    pub(crate) height: f64,
}

impl Default for Frame {
    fn default() -> Self {
        Self { left: 64.0, right: 40.0, top: 14.0, bottom: 26.0, height: 320.0 }
    }
}

impl Frame {
    const WIDTH: f64 = 1000.0;

    /// The left and the right end of the x axis.
    pub(crate) fn across(&self) -> (f64, f64) {
        (self.left, self.right())
    }

    /// The lower and the upper end of the y axis.
    pub(crate) fn up(&self) -> (f64, f64) {
        (self.bottom(), self.top)
    }

    pub(crate) fn right(&self) -> f64 {
        Self::WIDTH - self.right
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.height - self.bottom
    }

    /// A line across at height `y`, with its label on the left.
    pub(crate) fn level(&self, y: f64, label: &str) -> Markup {
        let y_of_text = y + 4.0;
        html! {
            line.grid x1=(two(self.left)) x2=(two(self.right())) y1=(two(y)) y2=(two(y)) {}
            text.tick x=(two(self.left - 6.0)) y=(two(y_of_text)) text-anchor="end" { (label) }
        }
    }

    /// A label below the x axis.
    pub(crate) fn below(&self, x: f64, label: &str) -> Markup {
        let y = self.bottom() + 16.0;
        html! { text.tick x=(two(x)) y=(two(y)) text-anchor="middle" { (label) } }
    }

    pub(crate) fn view_box(&self) -> String {
        format!("0 0 {} {}", Self::WIDTH, self.height)
    }
}

/// A scale from values to places.
pub(crate) struct Axis {
    from: f64,
    to: f64,
    is_log: bool,
    ends: (f64, f64),
}

impl Axis {
    pub(crate) fn linear((from, to): (f64, f64), ends: (f64, f64)) -> Self {
        Self { from, to: if to > from { to } else { from + 1.0 }, is_log: false, ends }
    }

    /// A logarithmic scale; values below the least positive end count as that.
    pub(crate) fn log((from, to): (f64, f64), ends: (f64, f64)) -> Self {
        let from = from.max(1e-3);
        Self { from, to: if to > from { to } else { from * 10.0 }, is_log: true, ends }
    }

    /// Where a value is.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let part = if self.is_log {
            (value.max(1e-3) / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        self.ends.0 + part * (self.ends.1 - self.ends.0)
    }

    /// Round values within the scale with their labels, at most about `max`.
    pub(crate) fn ticks(&self, max: usize, label: impl Fn(f64) -> String) -> Vec<(f64, String)> {
        let values = if self.is_log { self.log_ticks(max) } else { self.linear_ticks(max) };
        values.into_iter().map(|value| (value, label(value))).collect()
    }

    /// The least of 1, 2, 5 times a power of ten that is not below `step`.
    pub(crate) fn round_step(step: f64) -> f64 {
        let power = 10f64.powf(step.max(1e-9).log10().floor());
        [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * power)
            .find(|round| *round >= step * (1.0 - 1e-9))
            .unwrap_or(10.0 * power)
    }

    fn linear_ticks(&self, max: usize) -> Vec<f64> {
        let step = Self::round_step((self.to - self.from) / max as f64);
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step).floor() as i64;
        (first..=last).map(|at| at as f64 * step).collect()
    }

    fn log_ticks(&self, max: usize) -> Vec<f64> {
        let first = self.from.log10().floor() as i32;
        let last = self.to.log10().ceil() as i32;
        let ticks = |factors: &[f64]| -> Vec<f64> {
            (first..=last)
                .flat_map(|decade| factors.iter().map(move |factor| factor * 10f64.powi(decade)))
                .filter(|value| (self.from..=self.to).contains(value))
                .collect()
        };
        [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]]
            .into_iter()
            .map(ticks)
            .find(|ticks| ticks.len() <= max)
            .unwrap_or_else(|| ticks(&[1.0]))
    }
}

/// A place, to a tenth.
pub(crate) fn two(place: f64) -> String {
    format!("{place:.1}")
}

/// Nanoseconds as short as they go: `200 ns`, `50 µs`, `1.5 ms`, `−20 µs`.
pub(crate) fn tick_label(ns: f64) -> String {
    let (unit, per) = match ns.abs() {
        0.0..1e3 => ("ns", 1.0),
        1e3..1e6 => ("µs", 1e3),
        1e6..1e9 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    if ns == 0.0 {
        return "0".to_owned();
    }
    let number = format!("{:.3}", (ns / per).abs());
    let number = number.trim_end_matches('0').trim_end_matches('.');
    format!("{}{number} {unit}", if ns < 0.0 { "−" } else { "" })
}

/// A count on an axis.
pub(crate) fn decade_label(n: f64) -> String {
    count(n.round() as u64)
}

/// Rows for labels (centre, characters) that stand above a chart, such that none touches another in
/// its row; first come, lowest row.
pub(crate) fn rows_without_overlap(labels: &[(f64, usize)]) -> Vec<usize> {
    const CHARACTER: f64 = 7.0;
    let mut placed: Vec<(usize, f64, f64)> = Vec::new();
    labels
        .iter()
        .map(|&(centre, characters)| {
            let half = characters as f64 * CHARACTER / 2.0 + 4.0;
            let (from, to) = (centre - half, centre + half);
            // One row each is enough for all.
            let row = (0..labels.len())
                .find(|row| {
                    placed
                        .iter()
                        .all(|&(other, start, end)| other != *row || end <= from || to <= start)
                })
                .unwrap_or_default();
            placed.push((row, from, to));
            row
        })
        .collect()
}

/// A cell of a table: a share in words above a bar.
pub(crate) fn share_cell(tenths: u32, fill: &str) -> Markup {
    html! {
        td.number.share {
            (percent(tenths))
            svg.share viewBox="0 0 1000 60" preserveAspectRatio="none" aria-hidden="true" {
                rect.track width="1000" height="60" {}
                rect width=(tenths) height="60" fill=(fill) {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let values = |axis: &Axis, max| -> Vec<String> {
            axis.ticks(max, tick_label).into_iter().map(|(_, label)| label).collect()
        };
        let linear = Axis::linear((-60_000.0, 440_000.0), (0.0, 1000.0));
        assert_eq!(values(&linear, 8), ["0", "100 µs", "200 µs", "300 µs", "400 µs"]);
        let log = Axis::log((3_000.0, 2_000_000.0), (0.0, 1000.0));
        assert_eq!(values(&log, 6), ["3 µs", "10 µs", "30 µs", "100 µs", "300 µs", "1 ms"]);
        let wide = Axis::log((1.0, 1e12), (0.0, 1000.0));
        assert_eq!(values(&wide, 20).len(), 13);
    }

    #[test]
    fn labels_that_would_touch_move_up() {
        assert_eq!(rows_without_overlap(&[(100.0, 10), (120.0, 10), (300.0, 10)]), [0, 1, 0]);
    }
}
