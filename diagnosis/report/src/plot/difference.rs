//! How much later, quantile by quantile, with the band in which the true difference lies.

use super::LINES_MAX;
use super::signed_scale::SignedScale;
use crate::clean::{clean, clean_cut};
use crate::page::{Axis, Frame, tick_label, two};
use crate::units::count;
use maud::{Markup, html};
use std::fmt::Write as _;
use tardy_stats::Interval;
use tardy_stats::ab::BandPoint;

/// The differences of one pair.
pub(crate) struct DifferenceLine<'a> {
    /// What is subtracted from what, not yet clean.
    pub(crate) name: &'a str,
    /// Its colour, by its place in the style's list.
    pub(crate) colour: usize,
    /// The differences, ascending by quantile.
    pub(crate) band: Vec<BandPoint>,
}

/// Differences along all quantiles, the tail drawn out: each decade to the right is a tenth of the
/// values before it. Nothing where there is none.
pub(crate) fn differences(lines: &[DifferenceLine<'_>]) -> Markup {
    let points = || lines.iter().flat_map(|line| &line.band).filter(|at| at.q < 1.0);
    let Some(last) = points().map(|point| point.q).max_by(f64::total_cmp) else {
        return Markup::default();
    };
    let frame = Frame { left: 84.0, right: 48.0, ..Frame::default() };
    let decades = (-(1.0 - last).log10()).max(1.0);
    let x = Axis::log((1.0, 10f64.powf(decades)), frame.across());
    let ends = points().flat_map(|point| {
        let Interval { value, low, high } = point.b_minus_a;
        [value, low, high]
    });
    let range = ends
        .filter(|ns| ns.is_finite())
        .fold((0f64, 0f64), |(from, to), ns| (from.min(ns), to.max(ns)));
    let mut sizes: Vec<f64> = points().map(|point| point.b_minus_a.value.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let y = SignedScale::new(range, sizes[sizes.len() / 2], frame.up());
    let at = |q: f64| x.at(1.0 / (1.0 - q));
    html! {
        ul.legend {
            @for line in lines {
                li class=(format!("line-{}", line.colour % LINES_MAX)) title=(clean(line.name)) {
                    bdi { (clean_cut(line.name, 64)) }
                }
            }
        }
        @if y.is_bent() { p.note { "Up: linear around 0, logarithmic further out." } }
        div.scroll {
            svg.chart viewBox=(frame.view_box()) data-rove role="group"
                aria-label="Difference by quantile" {
                @for ns in y.ticks(9) {
                    line.grid x1=(two(frame.left)) x2=(two(frame.right())) y1=(two(y.at(ns)))
                        y2=(two(y.at(ns))) {}
                    text.tick x=(two(frame.left - 6.0)) y=(two(y.at(ns) + 4.0)) text-anchor="end" {
                        @if ns > 0.0 { "+" } (tick_label(ns))
                    }
                }
                @for decade in 0..=decades.floor() as i32 {
                    @let place = x.at(10f64.powi(decade));
                    line.grid x1=(two(place)) x2=(two(place)) y1=(two(frame.top))
                        y2=(two(frame.bottom())) {}
                    text.tick x=(two(place)) y=(two(frame.bottom() + 16.0)) text-anchor="middle" {
                        (decade_name(decade))
                    }
                }
                @let median = at(0.5);
                line.grid x1=(two(median)) x2=(two(median)) y1=(two(frame.top))
                    y2=(two(frame.bottom())) {}
                text.tick x=(two(median)) y=(two(frame.bottom() + 16.0)) text-anchor="middle" {
                    "median"
                }
                @for line in lines {
                    path class=(format!("region line-{}", line.colour % LINES_MAX))
                        d=(region(&line.band, &at, &y, &frame)) {}
                }
                line.zero x1=(two(frame.left)) x2=(two(frame.right())) y1=(two(y.at(0.0)))
                    y2=(two(y.at(0.0))) {}
                @for line in lines {
                    path class=(format!("line line-{}", line.colour % LINES_MAX))
                        d=(path(&line.band, &at, &y)) {}
                    @for point in told(&line.band) {
                        g.tip {
                            title {
                                (clean_cut(line.name, 32)) " "
                                (crate::compare::at_point(point.q, point.b_minus_a))
                            }
                            circle class=(format!("dot line-{}", line.colour % LINES_MAX))
                                cx=(two(at(point.q))) cy=(two(y.at(point.b_minus_a.value))) r="3.5" {}
                        }
                    }
                }
            }
        }
    }
}

fn decade_name(decade: i32) -> String {
    if decade == 0 {
        "all".to_owned()
    } else {
        format!("1 in {}", count(10u64.saturating_pow(decade as u32)))
    }
}

fn path(band: &[BandPoint], at: &impl Fn(f64) -> f64, y: &SignedScale) -> String {
    let mut d = String::new();
    for point in band.iter().filter(|point| point.b_minus_a.value.is_finite()) {
        let start = if d.is_empty() { 'M' } else { 'L' };
        // Writing to a String does not fail.
        let _ = write!(d, "{start}{:.1} {:.1}", at(point.q), y.at(point.b_minus_a.value));
    }
    d
}

/// Along the upper ends, back along the lower ones; an end that nothing bounds is the picture's.
fn region(band: &[BandPoint], at: &impl Fn(f64) -> f64, y: &SignedScale, frame: &Frame) -> String {
    let end = |ns: f64, unbounded: f64| if ns.is_finite() { y.at(ns) } else { unbounded };
    let upper = band.iter().map(|point| (point.q, end(point.b_minus_a.high, frame.top)));
    let lower = band.iter().rev().map(|point| (point.q, end(point.b_minus_a.low, frame.bottom())));
    let mut d = String::new();
    for (q, height) in upper.chain(lower) {
        let start = if d.is_empty() { 'M' } else { 'L' };
        let _ = write!(d, "{start}{:.1} {height:.1}", at(q));
    }
    if d.is_empty() { d } else { d + "Z" }
}

/// The points nearest to the quantiles that people ask for.
fn told(band: &[BandPoint]) -> Vec<BandPoint> {
    let wanted = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.999_99];
    let near = |q: f64| {
        let nearest =
            band.iter().min_by(|one, two| (one.q - q).abs().total_cmp(&(two.q - q).abs()))?;
        ((nearest.q - q).abs() <= (1.0 - q) * 0.1).then_some(*nearest)
    };
    wanted.into_iter().filter_map(near).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(q: f64, value: f64, low: f64, high: f64) -> BandPoint {
        BandPoint { q, b_minus_a: Interval { value, low, high } }
    }

    #[test]
    fn an_end_that_nothing_bounds_reaches_the_edge() {
        let frame = Frame::default();
        let y = SignedScale::new((-10.0, 10.0), 5.0, frame.up());
        let band = [point(0.5, 1.0, 0.0, 2.0), point(0.9, 1.0, f64::NEG_INFINITY, f64::INFINITY)];
        let d = region(&band, &|q| q * 100.0, &y, &frame);
        assert!(d.contains(&format!("L90.0 {:.1}", frame.top)), "{d}");
        assert!(d.contains(&format!("L90.0 {:.1}", frame.bottom())), "{d}");
        assert_eq!(region(&[], &|q| q, &y, &frame), "");
    }

    #[test]
    fn only_points_that_are_there_are_told() {
        let band =
            [point(0.5, 1.0, 0.0, 2.0), point(0.899, 1.0, 0.0, 2.0), point(0.95, 1., 0., 2.)];
        let told: Vec<f64> = told(&band).iter().map(|point| point.q).collect();
        assert_eq!(told, [0.5, 0.899]);
        assert!(differences(&[]).into_string().is_empty());
    }
}
