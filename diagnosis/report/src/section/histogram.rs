//! How late, how often.

use super::Section;
use crate::data::Data;
use crate::page::{Axis, Frame, decade_label, rows_without_overlap, tick_label, two};
use crate::units::{count, counted, duration};
use maud::{Markup, html};
use tardy_stats::Latencies;

pub(super) struct LatenessHistogram;

/// Bars shown at most.
const BARS_MAX: usize = 72;

/// One bar: latencies above `from_ns`, up to and with `to_ns`.
struct Bar {
    from_ns: f64,
    to_ns: f64,
    n: u64,
}

impl Section for LatenessHistogram {
    fn html(&self, data: &Data<'_>) -> Markup {
        let latencies = data.latencies();
        if latencies.count() == 0 {
            return Markup::default();
        }
        html! {
            section #histogram {
                h2 { "How late, how often" }
                p.note { "Both scales " @if is_long_tailed(&latencies) { "are" } @else { "differ: across linear, up" }
                    " logarithmic. A single late wakeup is still a bar." }
                div.scroll { (chart(&latencies)) }
            }
        }
    }
}

/// Whether the tail is so long that a linear axis would press the body into a few pixels.
pub(super) fn is_long_tailed(latencies: &Latencies) -> bool {
    latencies.max_ns() > 12 * latencies.quantile_ns(0.5).max(1)
}

fn chart(latencies: &Latencies) -> Markup {
    let bars = bars(latencies);
    let (Some(first), Some(last)) = (bars.first(), bars.last()) else { return Markup::default() };
    let markers = [
        ("p50", latencies.quantile_ns(0.5)),
        ("p99", latencies.quantile_ns(0.99)),
        ("p99.9", latencies.quantile_ns(0.999)),
        ("max", latencies.max_ns()),
    ]
    .map(|(name, ns)| (ns, format!("{name} {}", duration(ns))));

    let frame = Frame { top: 52.0, ..Frame::default() };
    let range = (first.from_ns, last.to_ns);
    let x = if is_long_tailed(latencies) {
        Axis::log(range, frame.across())
    } else {
        Axis::linear(range, frame.across())
    };
    let most = bars.iter().map(|bar| bar.n).max().unwrap_or(1) as f64;
    // From one half, so that a bar of one has a height.
    let y = Axis::log((0.5, most * 1.3), frame.up());
    let labels: Vec<(f64, usize)> =
        markers.iter().map(|(ns, text)| (x.at(*ns as f64), text.chars().count())).collect();
    let rows = rows_without_overlap(&labels);
    let inside = |ns: u64| x.at((ns as f64).clamp(range.0, range.1));
    html! {
        svg.chart viewBox=(frame.view_box()) data-rove role="group"
            aria-label="Histogram of lateness" {
            @for (value, label) in y.ticks(6, decade_label) {
                (frame.level(y.at(value), &label))
            }
            @for (value, label) in x.ticks(12, tick_label) {
                (frame.below(x.at(value), &label))
            }
            @for bar in bars.iter().filter(|bar| bar.n > 0) {
                @let (from, to, top) = (x.at(bar.from_ns), x.at(bar.to_ns), y.at(bar.n as f64));
                g.tip {
                    title {
                        (counted(bar.n, "wakeup")) " above " (duration(bar.from_ns as u64)) " up to "
                        (duration(bar.to_ns as u64))
                    }
                    rect.bar x=(two(from + 0.5)) y=(two(top)) width=(two((to - from - 1.0).max(0.6)))
                        height=(two(frame.bottom() - top)) {}
                }
            }
            line.axis x1=(two(frame.left)) x2=(two(frame.right())) y1=(two(frame.bottom()))
                y2=(two(frame.bottom())) {}
            @for ((ns, text), row) in markers.iter().zip(rows) {
                @let baseline = 12.0 + row as f64 * 14.0;
                line.marker x1=(two(inside(*ns))) x2=(two(inside(*ns))) y1=(two(baseline + 3.0))
                    y2=(two(frame.bottom())) {}
                text.marker x=(two(inside(*ns))) y=(two(baseline)) text-anchor="middle" { (text) }
            }
            text.axis-name x="4" y=(two(frame.top - 8.0)) { "wakeups (" (count(latencies.count())) ")" }
        }
    }
}

/// Classes of the histogram gathered into at most [`BARS_MAX`] bars with round borders, from the
/// least latency to the most, empty ones included.
fn bars(latencies: &Latencies) -> Vec<Bar> {
    let (min, max) = (latencies.min_ns().max(1) as f64, latencies.max_ns().max(1) as f64);
    let (mut bars, index): (Vec<Bar>, Box<dyn Fn(f64) -> usize>) = if is_long_tailed(latencies) {
        // Parts of a decade, as many as there is room for.
        let decades = (max / min).log10().max(0.1);
        let parts = [40.0, 20.0, 10.0, 5.0, 2.0, 1.0]
            .into_iter()
            .find(|parts| decades * parts + 2.0 <= BARS_MAX as f64)
            .unwrap_or(1.0);
        let first = (min.log10() * parts).floor();
        let end = (max.log10() * parts).ceil().max(first + 1.0);
        let border = |at: f64| 10f64.powf(at / parts);
        let bars = (0..(end - first) as usize)
            .map(|at| Bar {
                from_ns: border(first + at as f64),
                to_ns: border(first + at as f64 + 1.0),
                n: 0,
            })
            .collect();
        (bars, Box::new(move |ns: f64| (ns.log10() * parts - first).ceil() as usize))
    } else {
        let step = Axis::round_step((max - min).max(1.0) / (BARS_MAX as f64 - 2.0));
        let first = (min / step).floor() * step;
        let n = (((max - first) / step).ceil() as usize).max(1);
        let bars = (0..n)
            .map(|at| Bar {
                from_ns: first + at as f64 * step,
                to_ns: first + (at + 1) as f64 * step,
                n: 0,
            })
            .collect();
        (bars, Box::new(move |ns: f64| ((ns - first) / step).ceil() as usize))
    };
    let last = bars.len() - 1;
    for (ns, n) in latencies.classes() {
        // A class is told by its highest value, which may lie just above the true maximum.
        bars[index((ns as f64).min(max)).saturating_sub(1).min(last)].n += n;
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_latency_is_in_a_bar(
            ns in proptest::collection::vec(prop_oneof![0u64..100_000, 0u64..2_000_000_000_000], 1..50)
        ) {
            let mut latencies = Latencies::default();
            for &ns in &ns {
                latencies.record(ns);
            }
            let bars = bars(&latencies);
            prop_assert!(bars.len() <= BARS_MAX);
            prop_assert_eq!(bars.iter().map(|bar| bar.n).sum::<u64>(), ns.len() as u64);
            let slack = 1.0 + 2e-3;
            prop_assert!(bars[0].from_ns <= latencies.min_ns().max(1) as f64 * slack);
            prop_assert!(bars[bars.len() - 1].to_ns * slack >= latencies.max_ns() as f64);
        }
    }
}
