//! A row per method, a bar per condition, and lines for what a formula says.

use super::rows::{MARK_HEIGHT, Rows, legend_of};
use super::{LINES_MAX, number};
use crate::clean::clean_cut;
use crate::page::{Axis, rows_without_overlap, two};
use maud::{Markup, html};

/// All bars of one row, one per condition; `None` where it has none.
pub(crate) struct BarRow<'a> {
    /// Its name, not yet clean.
    pub(crate) name: &'a str,
    pub(crate) bars: Vec<Option<Bar>>,
}

/// A number, with the least and the most of those that it is the mean of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    pub(crate) value: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// A line across all rows: what should be.
pub(crate) struct Mark {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// Rows of bars on a linear scale from 0. `conditions` names the bars of a row in their order. Nothing
/// where there is no bar.
pub(crate) fn bars(conditions: &[&str], rows: &[BarRow<'_>], marks: &[Mark]) -> Markup {
    let ends = rows.iter().flat_map(|row| row.bars.iter().flatten().map(|bar| bar.most));
    if ends.clone().next().is_none() {
        return Markup::default();
    }
    let most = ends.chain(marks.iter().map(|mark| mark.value)).fold(0.0, f64::max);
    let places = Rows::new(rows.len(), conditions.len(), marks.len().min(2));
    let frame = &places.frame;
    let x = Axis::linear((0.0, if most > 0.0 { most * 1.08 } else { 1.0 }), frame.across());
    let labels: Vec<(f64, usize)> =
        marks.iter().map(|mark| (x.at(mark.value), mark.label.chars().count())).collect();
    let label_rows = rows_without_overlap(&labels);
    let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
    html! {
        (legend_of(conditions))
        div.scroll {
            svg.chart viewBox=(frame.view_box()) data-rove role="group" aria-label="A bar per row" {
                (places.ground(&names, &x, number))
                @for (place, row) in rows.iter().enumerate() {
                    @for (colour, (bar, condition)) in row.bars.iter().zip(conditions).enumerate() {
                        @if let Some(bar) = bar {
                            @let y = places.middle(place, colour);
                            @let class = format!("line-{}", colour % LINES_MAX);
                            g.tip {
                                title { (told(row.name, condition, bar)) }
                                rect class=(format!("block {class}")) x=(two(frame.left))
                                    y=(two(y - MARK_HEIGHT * 0.4)) height=(two(MARK_HEIGHT * 0.8))
                                    width=(two((x.at(bar.value) - frame.left).max(1.0))) {}
                                line.whisker x1=(two(x.at(bar.least))) x2=(two(x.at(bar.most))) y1=(two(y))
                                    y2=(two(y)) {}
                            }
                        }
                    }
                }
                line.axis x1=(two(frame.left)) x2=(two(frame.left)) y1=(two(frame.top))
                    y2=(two(frame.bottom())) {}
                @for (mark, row) in marks.iter().zip(label_rows) {
                    @let baseline = 14.0 + row as f64 * 14.0;
                    line.marker x1=(two(x.at(mark.value))) x2=(two(x.at(mark.value)))
                        y1=(two(baseline + 3.0)) y2=(two(frame.bottom())) {}
                    text.marker x=(two(x.at(mark.value))) y=(two(baseline)) text-anchor="middle" {
                        (mark.label)
                    }
                }
            }
        }
    }
}

fn told(name: &str, condition: &str, bar: &Bar) -> String {
    format!(
        "{}, {}: {}; {} to {} in single blocks",
        clean_cut(name, 32),
        clean_cut(condition, 24),
        number(bar.value),
        number(bar.least),
        number(bar.most)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_per_condition_and_a_line_per_mark() {
        let bar = Bar { value: 1.85, least: 1.8, most: 1.9 };
        let none = Bar { value: 0.0, least: 0.0, most: 0.0 };
        let rows = [
            BarRow { name: "timerfd", bars: vec![Some(bar), None] },
            BarRow { name: "<lazy>", bars: vec![Some(none), Some(none)] },
        ];
        let mark = Mark { value: 0.925, label: "formula 0.925".to_owned() };
        let chart = bars(&["busy", "sleeping"], &rows, &[mark]).into_string();
        assert_eq!(chart.matches("class=\"block ").count(), 3);
        assert!(chart.contains("timerfd, busy: 1.85; 1.8 to 1.9 in single blocks"), "{chart}");
        assert!(chart.contains("formula 0.925") && !chart.contains("<lazy>"));
        assert!(!chart.contains("NaN") && !chart.contains("inf"));
        let nothing = BarRow { name: "timerfd", bars: vec![None] };
        assert!(bars(&["busy"], &[nothing], &[]).into_string().is_empty());
    }
}
