//! A row per thread, a dot per condition: where the most lies, and from where to where the rest.

use super::LINES_MAX;
use super::rows::{Rows, legend_of};
use crate::clean::clean_cut;
use crate::page::{Axis, tick_label, two};
use crate::units::{count, duration};
use maud::{Markup, html};

/// All dots of one row, one per condition; `None` where it has none.
pub(crate) struct DotRow<'a> {
    /// Its name, not yet clean.
    pub(crate) name: &'a str,
    pub(crate) dots: Vec<Option<Dot>>,
}

/// One sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dot {
    /// The median: where its bar begins.
    pub(crate) median_ns: u64,
    /// The 99.9th percentile: where its bar ends.
    pub(crate) p999_ns: u64,
    /// The dot.
    pub(crate) max_ns: u64,
    /// How many.
    pub(crate) count: u64,
    /// What another machine reports, as a ring.
    pub(crate) reported_ns: Option<f64>,
}

/// Rows of dots on a logarithmic scale. `conditions` names the dots of a row in their order. Nothing
/// where there is no dot.
pub(crate) fn dots(conditions: &[&str], rows: &[DotRow<'_>]) -> Markup {
    let all = || rows.iter().flat_map(|row| row.dots.iter().flatten());
    let ns = || {
        all().flat_map(|dot| {
            [Some(dot.median_ns as f64), Some(dot.max_ns as f64), dot.reported_ns]
                .into_iter()
                .flatten()
        })
    };
    let (least, most) =
        ns().fold((f64::INFINITY, 0f64), |(least, most), ns| (least.min(ns), most.max(ns)));
    if most <= 0.0 {
        return Markup::default();
    }
    let places = Rows::new(rows.len(), conditions.len(), 0);
    let frame = &places.frame;
    let x = Axis::log((least.max(1.0) / 1.3, most * 1.3), frame.across());
    let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
    html! {
        (legend_of(conditions))
        div.scroll {
            svg.chart viewBox=(frame.view_box()) data-rove role="group"
                aria-label="The largest value per row" {
                (places.ground(&names, &x, tick_label))
                @for (place, row) in rows.iter().enumerate() {
                    @for (colour, (dot, condition)) in row.dots.iter().zip(conditions).enumerate() {
                        @if let Some(dot) = dot {
                            @let y = places.middle(place, colour);
                            @let at = |ns: f64| two(x.at(ns.max(1.0)));
                            @let class = format!("line-{}", colour % LINES_MAX);
                            g.tip {
                                title { (told(row.name, condition, dot)) }
                                line class=(format!("range {class}")) x1=(at(dot.median_ns as f64))
                                    x2=(at(dot.p999_ns as f64)) y1=(two(y)) y2=(two(y)) {}
                                line class=(format!("stem {class}")) x1=(at(dot.p999_ns as f64))
                                    x2=(at(dot.max_ns as f64)) y1=(two(y)) y2=(two(y)) {}
                                circle class=(format!("most {class}")) cx=(at(dot.max_ns as f64)) cy=(two(y))
                                    r="5" {}
                            }
                            @if let Some(reported_ns) = dot.reported_ns {
                                g.tip {
                                    title {
                                        (clean_cut(row.name, 24)) ", " (clean_cut(condition, 24)) ": the source reports "
                                        (duration(reported_ns.max(0.0) as u64)) ", from another machine"
                                    }
                                    circle class=(format!("ring {class}")) cx=(at(reported_ns)) cy=(two(y)) r="5" {}
                                }
                            }
                        }
                    }
                }
                line.axis x1=(two(frame.left)) x2=(two(frame.right())) y1=(two(frame.bottom()))
                    y2=(two(frame.bottom())) {}
            }
        }
    }
}

fn told(name: &str, condition: &str, dot: &Dot) -> String {
    format!(
        "{}, {}: the largest of {} is {}; median {}, p99.9 {}",
        clean_cut(name, 24),
        clean_cut(condition, 24),
        count(dot.count),
        duration(dot.max_ns),
        duration(dot.median_ns),
        duration(dot.p999_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(max_ns: u64) -> Dot {
        Dot { median_ns: max_ns / 20, p999_ns: max_ns / 2, max_ns, count: 1000, reported_ns: None }
    }

    #[test]
    fn a_dot_per_condition_that_has_one_and_a_ring_for_what_is_reported() {
        let reported = Dot { reported_ns: Some(84e3), ..dot(158_000) };
        let rows = [
            DotRow { name: "T0", dots: vec![Some(dot(2_123_000)), None] },
            DotRow { name: "T1 <b>", dots: vec![Some(reported), Some(dot(0))] },
        ];
        let chart = dots(&["one", "two"], &rows).into_string();
        assert_eq!(chart.matches("class=\"most ").count(), 3);
        assert_eq!(chart.matches("class=\"ring ").count(), 1);
        assert!(chart.contains("the largest of 1,000 is 2.12 ms"), "{chart}");
        assert!(!chart.contains("<b>") && !chart.contains("NaN") && !chart.contains("inf"));
    }

    #[test]
    fn without_a_value_there_is_no_picture() {
        assert!(dots(&[], &[]).into_string().is_empty());
        let row = DotRow { name: "T0", dots: vec![None] };
        assert!(dots(&["one"], &[row]).into_string().is_empty());
    }
}
