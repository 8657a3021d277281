//! The lateness that a share of all wakeups does not exceed, drawn so that the tail has room.

use super::Section;
use super::histogram::is_long_tailed;
use crate::clean::{clean, clean_cut};
use crate::data::Data;
use crate::page::{Axis, Frame, tick_label, two};
use crate::units::{count, duration};
use maud::{Markup, html};
use std::fmt::Write as _;
use tardy_stats::Latencies;

pub(super) struct Percentiles;

/// Lines beside the one for all; more could not be told apart.
const LINES_MAX: usize = 6;

impl Section for Percentiles {
    fn html(&self, data: &Data<'_>) -> Markup {
        let all = data.latencies();
        // With one, there is no distribution to draw.
        if all.count() < 2 {
            return Markup::default();
        }
        html! {
            section #percentiles {
                h2 { "Percentiles" }
                p.note {
                    "Each step to the right is a tenth of the wakeups before it: read off how late the "
                    "latest 1 in 10, 1 in 100, 1 in 1,000 were."
                }
                div.scroll { (chart(data, &all)) }
            }
        }
    }
}

fn chart(data: &Data<'_>, all: &Latencies) -> Markup {
    let series = data.series();
    let lines = if (2..=LINES_MAX).contains(&series.len()) { &series[..] } else { &[] };
    let frame = Frame { right: 48.0, ..Frame::default() };
    let decades = (all.count() as f64).log10().ceil().max(1.0);
    let x = Axis::log((1.0, 10f64.powf(decades)), frame.across());
    let (min, max) = (all.min_ns().max(1) as f64, all.max_ns().max(1) as f64);
    let y = if is_long_tailed(all) {
        Axis::log((min / 1.2, max * 1.2), frame.up())
    } else {
        Axis::linear((0.0, max * 1.08), frame.up())
    };
    html! {
        @if !lines.is_empty() {
            ul.legend {
                li.line-all { "all" }
                @for (number, line) in lines.iter().enumerate() {
                    li class=(format!("line-{number}")) title=(clean(line.name)) {
                        bdi { (clean_cut(line.name, 24)) }
                    }
                }
            }
        }
        svg.chart viewBox=(frame.view_box()) data-rove role="group"
            aria-label="Lateness by percentile" {
            @for (value, label) in y.ticks(7, tick_label) {
                (frame.level(y.at(value), &label))
            }
            @for decade in 0..=decades as u32 {
                @let at = x.at(10f64.powi(decade as i32));
                line.grid x1=(two(at)) x2=(two(at)) y1=(two(frame.top)) y2=(two(frame.bottom())) {}
                text.tick x=(two(at)) y=(two(frame.bottom() + 16.0)) text-anchor="middle" {
                    (decade_name(decade))
                }
            }
            line.axis x1=(two(frame.left)) x2=(two(frame.right())) y1=(two(frame.bottom()))
                y2=(two(frame.bottom())) {}
            @for (number, line) in lines.iter().enumerate() {
                @if line.latencies.count() > 0 {
                    path class=(format!("line line-{number}")) d=(path(line.latencies, &x, &y)) {}
                }
            }
            path.line.line-all d=(path(all, &x, &y)) {}
            @for decade in 0..=decades as u32 {
                // Half of all stands for the left end, where "0 %" would say nothing.
                @let q = if decade == 0 { 0.5 } else { 1.0 - 10f64.powi(-(decade as i32)) };
                @if (1.0 - q) * all.count() as f64 >= 1.0 {
                    @let ns = all.quantile_ns(q);
                    g.tip {
                        title { (percentile_name(decade)) ": " (duration(ns)) " or less, n = " (count(all.count())) }
                        circle.dot cx=(two(x.at(1.0 / (1.0 - q)))) cy=(two(y.at(ns as f64))) r="4" {}
                    }
                }
            }
        }
    }
}

fn decade_name(decade: u32) -> String {
    match decade {
        0 => "all".to_owned(),
        1 => "1 in 10".to_owned(),
        _ => format!("1 in {}", count(10u64.saturating_pow(decade))),
    }
}

fn percentile_name(decade: u32) -> String {
    match decade {
        0 => "p50".to_owned(),
        1 => "p90".to_owned(),
        2 => "p99".to_owned(),
        _ => format!("p99.{}", "9".repeat(decade as usize - 2)),
    }
}

/// Steps from class to class; the last one ends at n, for beyond it nothing was seen. Steps of less
/// than half a pixel are left out.
fn path(latencies: &Latencies, x: &Axis, y: &Axis) -> String {
    let n = latencies.count() as f64;
    let mut d = String::new();
    let mut before = 0u64;
    let mut drawn: Option<(f64, f64)> = None;
    for (ns, in_class) in latencies.classes() {
        let ns = ns.clamp(latencies.min_ns(), latencies.max_ns()).max(1);
        let from = x.at(1.0 / (1.0 - before as f64 / n));
        before += in_class;
        let to = x.at((1.0 / (1.0 - before as f64 / n)).min(n));
        let height = y.at(ns as f64);
        let is_last = before == latencies.count();
        if let Some((last_x, last_y)) = drawn
            && !is_last
            && (to - last_x).abs() < 0.5
            && (height - last_y).abs() < 0.5
        {
            continue;
        }
        let start = if drawn.is_none() { 'M' } else { 'L' };
        // Writing to a String does not fail.
        let _ = write!(d, "{start}{from:.1} {height:.1}H{to:.1}");
        drawn = Some((to, height));
    }
    d
}
