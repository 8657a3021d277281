//! How often which latency: outlines over each other, both scales logarithmic where the tail is long.

use super::bins::Bins;
use super::share_axis::{ShareAxis, share_label};
use super::{LINES_MAX, Line, legend};
use crate::clean::clean_cut;
use crate::page::{Axis, Frame, tick_label, two};
use crate::units::{count, duration};
use maud::{Markup, html};
use std::fmt::Write as _;

/// Histograms of all lines over each other. What stands upwards is the share of a sample per
/// microsecond, so that samples of different size and bins of different width can be compared.
/// Nothing where there is no value.
pub(crate) fn histogram(lines: &[Line<'_>]) -> Markup {
    let Some(bins) = Bins::of(lines) else { return Markup::default() };
    let counts: Vec<Vec<u64>> = lines.iter().map(|line| bins.counts(line)).collect();
    let density = |line: usize, bin: usize| {
        let (from, to) = bins.bin(bin);
        let share = counts[line][bin] as f64 / lines[line].values.count().max(1) as f64;
        share / ((to - from).max(1) as f64 / 1e3)
    };
    let all = (0..lines.len())
        .flat_map(|line| (0..bins.len()).map(move |bin| (line, bin)))
        .map(|(line, bin)| density(line, bin))
        .filter(|density| *density > 0.0);
    let (least, most) = all
        .fold((f64::MAX, 0f64), |(least, most), density| (least.min(density), most.max(density)));

    let frame = Frame { left: 84.0, ..Frame::default() };
    let ends_ns = (bins.borders_ns[0] as f64, bins.borders_ns[bins.len()] as f64);
    let x = if bins.is_log {
        // An end at 0 has no place on such an axis; what is there is drawn at the first border above.
        let first = if ends_ns.0 > 0.0 { ends_ns.0 } else { bins.borders_ns[1] as f64 / 2.0 };
        Axis::log((first, ends_ns.1), frame.across())
    } else {
        Axis::linear(ends_ns, frame.across())
    };
    let at = |border: usize| x.at(bins.borders_ns[border] as f64).max(frame.left);
    let y = ShareAxis::new((least / 2.0, most * 1.5), frame.up());
    html! {
        (legend(lines))
        div.scroll {
            svg.chart viewBox=(frame.view_box()) data-rove role="group"
                aria-label="Histograms of the sides" {
                @for (value, label) in y.ticks(7) {
                    (frame.level(y.at(value), &label))
                }
                @for (value, label) in x.ticks(12, tick_label) {
                    (frame.below(x.at(value), &label))
                }
                @for bin in 0..bins.len() {
                    @if counts.iter().any(|counts| counts[bin] > 0) {
                        g.tip {
                            title { (told(lines, &counts, &bins, bin)) }
                            rect.hit x=(two(at(bin))) y=(two(frame.top))
                                width=(two((at(bin + 1) - at(bin)).max(1.0)))
                                height=(two(frame.bottom() - frame.top)) {}
                        }
                    }
                }
                @for (place, line) in lines.iter().enumerate() {
                    @let heights: Vec<f64> = (0..bins.len()).map(|bin| match density(place, bin) {
                        0.0 => frame.bottom(),
                        density => y.at(density),
                    }).collect();
                    path class=(format!("line line-{}", line.colour % LINES_MAX))
                        d=(outline(&heights, &at, frame.bottom())) {}
                }
                line.axis x1=(two(frame.left)) x2=(two(frame.right())) y1=(two(frame.bottom()))
                    y2=(two(frame.bottom())) {}
            }
        }
    }
}

/// What is in a bin, of every line.
fn told(lines: &[Line<'_>], counts: &[Vec<u64>], bins: &Bins, bin: usize) -> String {
    let (from, to) = bins.bin(bin);
    let mut text = format!("from {} up to {}", duration(from), duration(to));
    for (line, counts) in lines.iter().zip(counts) {
        let share = counts[bin] as f64 / line.values.count().max(1) as f64;
        // Writing to a String does not fail.
        let _ = write!(
            text,
            "; {}: {} ({})",
            clean_cut(line.name, 16),
            count(counts[bin]),
            share_label(share)
        );
    }
    text
}

/// Steps along the tops, down to the axis where a bin is empty.
fn outline(heights: &[f64], at: &impl Fn(usize) -> f64, bottom: f64) -> String {
    let mut d = String::new();
    let mut before = bottom;
    for (bin, &height) in heights.iter().enumerate() {
        let is_up = height < bottom;
        if !is_up && before >= bottom {
            before = bottom;
            continue;
        }
        if before >= bottom {
            // Writing to a String does not fail.
            let _ = write!(d, "M{:.1} {bottom:.1}", at(bin));
        }
        let _ = write!(d, "V{height:.1}");
        if is_up {
            let _ = write!(d, "H{:.1}", at(bin + 1));
        }
        before = height;
    }
    if before < bottom {
        let _ = write!(d, "V{bottom:.1}");
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_comes_down_where_nothing_is() {
        let at = |border: usize| border as f64 * 10.0;
        let d = outline(&[50.0, 50.0, 100.0, 100.0, 20.0], &at, 100.0);
        assert_eq!(d, "M0.0 100.0V50.0H10.0V50.0H20.0V100.0M40.0 100.0V20.0H50.0V100.0");
        assert_eq!(outline(&[100.0], &at, 100.0), "");
    }
}
