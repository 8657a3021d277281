//! The share of values above each latency, both scales logarithmic: where tails can be told apart.

use super::share_axis::{ShareAxis, share_label};
use super::{LINES_MAX, Line, is_long_tailed, legend, range_ns};
use crate::clean::clean_cut;
use crate::page::{Axis, Frame, tick_label, two};
use crate::units::{count, duration};
use maud::{Markup, html};
use std::fmt::Write as _;

/// The normal deviate of a two-sided 95 % interval.
const Z_95: f64 = 1.959_964;

/// Places nearer to each other than this are drawn as one.
const PIXELS_MIN: f64 = 0.5;

/// Shares told in words on a line, each a power of ten.
const LABELLED_MAX: i32 = 8;

/// The share of each line's values above a latency, with the region in which the true share lies.
/// Nothing where there is no value.
pub(crate) fn ccdf(lines: &[Line<'_>]) -> Markup {
    let Some((least, most)) = range_ns(lines) else { return Markup::default() };
    let n = lines.iter().map(|line| line.values.count()).max().unwrap_or(1).max(2);
    let frame = Frame { left: 84.0, height: 360.0, ..Frame::default() };
    let (least, most) = (least.max(1) as f64, (most.max(2)) as f64);
    let x = if is_long_tailed(lines) {
        Axis::log((least / 1.05, most * 1.15), frame.across())
    } else {
        let room = (most - least).max(1.0) * 0.04;
        Axis::linear(((least - room).max(0.0), most + room), frame.across())
    };
    let y = ShareAxis::new((0.5 / n as f64, 1.0), frame.up());
    html! {
        (legend(lines))
        div.scroll {
            svg.chart viewBox=(frame.view_box()) data-rove role="group"
                aria-label="Share of values above a latency" {
                @for (value, label) in y.ticks(8) {
                    (frame.level(y.at(value), &label))
                }
                @for (value, label) in x.ticks(12, tick_label) {
                    line.grid x1=(two(x.at(value))) x2=(two(x.at(value))) y1=(two(frame.top))
                        y2=(two(frame.bottom())) {}
                    (frame.below(x.at(value), &label))
                }
                line.axis x1=(two(frame.left)) x2=(two(frame.right())) y1=(two(frame.bottom()))
                    y2=(two(frame.bottom())) {}
                @for line in lines {
                    @let steps = steps(line, &x);
                    path class=(format!("region line-{}", line.colour % LINES_MAX))
                        d=(region(&steps, &y, &frame)) {}
                }
                @for line in lines {
                    @let steps = steps(line, &x);
                    path class=(format!("line line-{}", line.colour % LINES_MAX))
                        d=(path(&steps, &y, &frame)) {}
                    @for (ns, share) in told(line) {
                        g.tip {
                            title {
                                (clean_cut(line.name, 24)) ": " (share_label(share)) " above "
                                (duration(ns)) ", n = " (count(line.values.count()))
                            }
                            circle class=(format!("dot line-{}", line.colour % LINES_MAX))
                                cx=(two(x.at(ns as f64))) cy=(two(y.at(share))) r="3.5" {}
                        }
                    }
                }
            }
        }
    }
}

/// From a latency on, a share of all is above it.
struct Step {
    /// The latency's place on the x axis.
    at: f64,
    /// The share above it, with the 95 % interval of the true one.
    share: f64,
    low: f64,
    high: f64,
}

/// A line's steps, from the least value, as many as can be seen, as far as its values are known.
fn steps(line: &Line<'_>, x: &Axis) -> Vec<Step> {
    let n = line.values.count();
    let mut above = n;
    let mut steps: Vec<Step> = Vec::new();
    for &(ns, of_these) in line.values.classes() {
        if 1.0 - above as f64 / n as f64 >= line.known_share {
            break;
        }
        above -= of_these;
        let at = x.at(ns.max(1) as f64);
        let (low, high) = wilson(above, n);
        let step = Step { at, share: above as f64 / n as f64, low, high };
        match steps.last_mut() {
            // The later one holds for all that follows.
            Some(last) if at - last.at < PIXELS_MIN => *last = Step { at: last.at, ..step },
            _ => steps.push(step),
        }
    }
    steps
}

/// The 95 % interval of a share, `hits` of `n` seen, taken as independent (Wilson, "Probable
/// Inference, the Law of Succession, and Statistical Inference", 1927): good down to no hit at all.
fn wilson(hits: u64, n: u64) -> (f64, f64) {
    let n = n.max(1) as f64;
    let share = hits as f64 / n;
    let z2 = Z_95 * Z_95;
    let middle = share + z2 / (2.0 * n);
    let half = Z_95 * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    let per = 1.0 + z2 / n;
    (((middle - half) / per).max(0.0), ((middle + half) / per).min(1.0))
}

/// Steps down, from 100 % to the most; a share of 0 has no place on a logarithmic axis and ends it.
fn path(steps: &[Step], y: &ShareAxis, frame: &Frame) -> String {
    let Some(first) = steps.first() else { return String::new() };
    let mut d = format!("M{:.1} {:.1}H{:.1}", frame.left, y.at(1.0), first.at);
    for (step, next) in steps.iter().zip(steps.iter().skip(1).map(Some).chain([None])) {
        let down = if step.share > 0.0 { y.at(step.share) } else { frame.bottom() };
        // Writing to a String does not fail.
        let _ = write!(d, "V{down:.1}");
        if let Some(next) = next {
            let _ = write!(d, "H{:.1}", next.at);
        }
    }
    d
}

/// Along the upper ends, back along the lower ones.
fn region(steps: &[Step], y: &ShareAxis, frame: &Frame) -> String {
    let Some((first, last)) = steps.first().zip(steps.last()) else { return String::new() };
    let place =
        |share: f64| if share > 0.0 { y.at(share).min(frame.bottom()) } else { frame.bottom() };
    let mut d = format!("M{:.1} {:.1}", first.at, y.at(1.0));
    for (step, next) in steps.iter().zip(&steps[1..]) {
        let _ = write!(d, "V{:.1}H{:.1}", place(step.high), next.at);
    }
    // Beyond the most nothing was seen: the region says how often it may be all the same.
    let _ = write!(d, "V{:.1}V{:.1}", place(last.high), frame.bottom());
    for pair in steps.windows(2).rev() {
        let _ = write!(d, "V{:.1}H{:.1}", place(pair[0].low), pair[0].at);
    }
    d + "Z"
}

/// Where a tenth, a hundredth, … of a line's values are above, as far as there are any.
fn told(line: &Line<'_>) -> Vec<(u64, f64)> {
    let n = line.values.count();
    (1..=LABELLED_MAX)
        .map(|power| 10f64.powi(-power))
        .take_while(|share| share * n as f64 >= 1.0 && 1.0 - share <= line.known_share)
        .filter_map(|share| {
            let ns = line.values.quantile_ns(1.0 - share)?;
            let above = n - line.values.count_up_to(ns);
            (above > 0).then_some((ns, above as f64 / n as f64))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_stats::Counted;

    #[test]
    fn an_interval_of_a_share_is_wilsons() {
        // Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I,
        // method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        for (hits, n, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let (got_low, got_high) = wilson(hits, n);
            assert!((got_low - low).abs() < 5e-5, "{hits} of {n}: {got_low}");
            assert!((got_high - high).abs() < 5e-5, "{hits} of {n}: {got_high}");
        }
    }

    #[test]
    fn a_line_ends_where_its_values_are_not_known() {
        let values = Counted::of_values((1..=1_000).map(|at| at * 1_000));
        let x = Axis::linear((0.0, 1e6), (0.0, 1_000.0));
        let line = |known_share| Line {
            name: "",
            colour: 0,
            values: &values,
            resolution_ns: 1,
            known_share,
        };
        assert_eq!(steps(&line(1.0), &x).len(), 1_000);
        assert_eq!(steps(&line(0.9), &x).len(), 900);
        assert_eq!(told(&line(1.0)).len(), 3, "of 10,000 nothing is known");
        assert_eq!(told(&line(0.9)).len(), 1);
    }
}
