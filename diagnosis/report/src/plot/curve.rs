//! A latency over a number that varies: the mean and the maximum of each point, a line per kind.
//!
//! Lines are told apart by their markers' shape and by colour; the mean is filled and solid, the
//! maximum hollow and dashed. So it can be read in black and white too.

use super::{LINES_MAX, number};
use crate::clean::clean_cut;
use crate::page::{Axis, Frame, tick_label, two};
use crate::units::{count, duration};
use maud::{Markup, html};

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CurveLine {
    /// Its name, not yet clean.
    pub(crate) name: String,
    /// Its points, by what varies.
    pub(crate) points: Vec<CurvePoint>,
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CurvePoint {
    /// Where it stands.
    pub(crate) x: f64,
    /// How many values.
    pub(crate) n: u64,
    pub(crate) mean_ns: f64,
    /// The least and the most of its rounds' means; `None` where there is one round.
    pub(crate) means_ns: Option<(f64, f64)>,
    pub(crate) max_ns: f64,
    /// The least of its rounds' maxima; `None` where there is one round.
    pub(crate) max_low_ns: Option<f64>,
}

/// Height of a line of the legend.
const LEGEND: f64 = 20.0;

/// Characters of a line's name.
const NAME_MAX: usize = 80;

/// The chart for a page. Nothing where there is no point.
pub(crate) fn curve(x_name: &str, lines: &[CurveLine]) -> Markup {
    let Some(chart) = Chart::of(lines) else { return Markup::default() };
    html! {
        div.scroll {
            svg.chart viewBox=(chart.frame.view_box()) data-rove role="group"
                aria-label=(label(x_name)) { (chart.body(x_name, lines)) }
        }
    }
}

/// The chart as a file of its own, with lines of text above and below it. `None` where there is no
/// point.
pub(crate) fn curve_file(
    title: &str,
    notes: &[String],
    x_name: &str,
    lines: &[CurveLine],
) -> Option<String> {
    let chart = Chart::of(lines)?;
    let (above, below) = (40.0, 14.0 + notes.len() as f64 * 18.0);
    let height = above + chart.frame.height + below;
    let markup = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 1000 {height}")) width="1000"
            height=(height) role="img" aria-label=(label(x_name)) {
            style { (include_str!("curve.css")) }
            rect.paper width="1000" height=(height) {}
            text.title x="24" y="28" { (clean_cut(title, 100)) }
            g transform=(format!("translate(0 {above})")) { (chart.body(x_name, lines)) }
            @for (row, note) in notes.iter().enumerate() {
                text.tick x="24" y=(two(above + chart.frame.height + 14.0 + row as f64 * 18.0)) {
                    (clean_cut(note, 150))
                }
            }
        }
    };
    Some(format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", markup.into_string()))
}

fn label(x_name: &str) -> String {
    format!("Mean and maximum over {}", clean_cut(x_name, 40))
}

struct Chart {
    frame: Frame,
    x: Axis,
    y: Axis,
}

impl Chart {
    fn of(lines: &[CurveLine]) -> Option<Self> {
        let points = || lines.iter().take(LINES_MAX).flat_map(|line| &line.points);
        let over = |of: fn(&CurvePoint) -> f64| {
            points()
                .map(of)
                .fold((f64::INFINITY, 0f64), |(least, most), one| (least.min(one), most.max(one)))
        };
        points().next()?;
        let (left, right) = over(|point| point.x);
        let (_, most) = over(|point| point.max_ns);
        let (least, largest_mean) = over(|point| point.mean_ns);
        let shown = lines.len().min(LINES_MAX) as f64;
        let top = 24.0 + shown * LEGEND;
        let frame = Frame { left: 74.0, top, bottom: 46.0, height: top + 330.0, right: 40.0 };
        // A maximum far out would press all means into one line.
        let y = if most > 12.0 * largest_mean {
            Axis::log((least.max(1.0) / 1.3, most * 1.2), frame.up())
        } else {
            Axis::linear((0.0, most.max(1.0) * 1.06), frame.up())
        };
        let room = (right - left) * 0.02;
        let x = Axis::linear((left - room, right + room), frame.across());
        Some(Self { frame, x, y })
    }

    fn body(&self, x_name: &str, lines: &[CurveLine]) -> Markup {
        let Self { frame, x, y } = self;
        let middle = f64::midpoint(frame.left, frame.right());
        html! {
            @for (value, label) in y.ticks(9, tick_label) {
                (frame.level(y.at(value), &label))
            }
            @for (value, label) in x.ticks(12, number) {
                (frame.below(x.at(value), &label))
            }
            line.axis x1=(two(frame.left)) x2=(two(frame.right())) y1=(two(frame.bottom()))
                y2=(two(frame.bottom())) {}
            text.axis-name x=(two(middle)) y=(two(frame.height - 8.0)) text-anchor="middle" {
                (clean_cut(x_name, 40))
            }
            text.axis-name x=(two(frame.left - 6.0)) y=(two(frame.top - 10.0)) text-anchor="end" {
                "latency"
            }
            @for (place, line) in lines.iter().take(LINES_MAX).enumerate() {
                (legend(place, line, frame.left))
                (self.line(place, line, x_name))
            }
        }
    }

    fn line(&self, place: usize, line: &CurveLine, x_name: &str) -> Markup {
        let Self { x, y, .. } = self;
        let colour = format!("line-{place}");
        let path = |of: fn(&CurvePoint) -> f64| -> String {
            let places = line.points.iter().map(|point| (x.at(point.x), y.at(of(point))));
            let steps = places.enumerate().map(|(at, (x, y))| {
                format!("{}{} {}", if at == 0 { "M" } else { "L" }, two(x), two(y))
            });
            steps.collect()
        };
        html! {
            path class=(format!("line {colour}")) d=(path(|point| point.mean_ns)) {}
            path class=(format!("line dashed {colour}")) d=(path(|point| point.max_ns)) {}
            @for point in &line.points {
                @let at = x.at(point.x);
                @let (mean, max) = (y.at(point.mean_ns), y.at(point.max_ns));
                @let means = point.means_ns.map(|(low, high)| (y.at(low), y.at(high)));
                @let maxima = point.max_low_ns.map(|low| (y.at(low), max));
                @for (low, high) in means.into_iter().chain(maxima) {
                    line.whisker x1=(two(at)) x2=(two(at)) y1=(two(low)) y2=(two(high)) {}
                }
                g.tip {
                    title { (told(line, point, x_name)) }
                    path class=(format!("most {colour}")) d=(marker(place, at, mean)) {}
                }
                g.tip {
                    title { (told(line, point, x_name)) }
                    path class=(format!("dot {colour}")) d=(marker(place, at, max)) {}
                }
            }
        }
    }
}

/// How the line's mean and its maximum look, its name, and how many values a point has.
fn legend(place: usize, line: &CurveLine, left: f64) -> Markup {
    let y = 12.0 + place as f64 * LEGEND;
    let colour = format!("line-{place}");
    let sample = |x: f64, stroke: &str, fill: &str| {
        html! {
            path class=(format!("line {stroke} {colour}"))
                d=(format!("M{} {}L{} {}", two(x), two(y), two(x + 34.0), two(y))) {}
            path class=(format!("{fill} {colour}")) d=(marker(place, x + 17.0, y)) {}
        }
    };
    let least = line.points.iter().map(|point| point.n).min().unwrap_or_default();
    let most = line.points.iter().map(|point| point.n).max().unwrap_or_default();
    let n =
        if least == most { count(most) } else { format!("{} to {}", count(least), count(most)) };
    html! {
        (sample(left, "", "most"))
        text x=(two(left + 42.0)) y=(two(y + 4.0)) { "mean" }
        (sample(left + 92.0, "dashed", "dot"))
        text x=(two(left + 134.0)) y=(two(y + 4.0)) { "max" }
        text x=(two(left + 178.0)) y=(two(y + 4.0)) {
            (clean_cut(&line.name, NAME_MAX)) ", n = " (n) " a point"
        }
    }
}

/// A closed outline around a place, another one for each line: circle, square, triangle, diamond,
/// triangle downwards, cross.
fn marker(line: usize, x: f64, y: f64) -> String {
    let corners: &[(f64, f64)] = match line % LINES_MAX {
        0 => {
            let (from, to) = (two(x - 4.5), two(x + 4.5));
            let y = two(y);
            return format!("M{from} {y}A4.5 4.5 0 1 0 {to} {y}A4.5 4.5 0 1 0 {from} {y}Z");
        }
        1 => &[(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)],
        2 => &[(0.0, -5.5), (5.0, 4.0), (-5.0, 4.0)],
        3 => &[(0.0, -6.0), (6.0, 0.0), (0.0, 6.0), (-6.0, 0.0)],
        4 => &[(0.0, 5.5), (5.0, -4.0), (-5.0, -4.0)],
        _ => &[
            (-5.0, -1.5),
            (-1.5, -1.5),
            (-1.5, -5.0),
            (1.5, -5.0),
            (1.5, -1.5),
            (5.0, -1.5),
            (5.0, 1.5),
            (1.5, 1.5),
            (1.5, 5.0),
            (-1.5, 5.0),
            (-1.5, 1.5),
            (-5.0, 1.5),
        ],
    };
    let corner = |(at, (dx, dy)): (usize, &(f64, f64))| {
        format!("{}{} {}", if at == 0 { "M" } else { "L" }, two(x + dx), two(y + dy))
    };
    let outline: String = corners.iter().enumerate().map(corner).collect();
    outline + "Z"
}

fn told(line: &CurveLine, point: &CurvePoint, x_name: &str) -> String {
    let ns = |ns: f64| duration(ns.round().max(0.0) as u64);
    let means = point.means_ns.map_or_else(String::new, |(low, high)| {
        format!(" ({} to {} in single rounds)", ns(low), ns(high))
    });
    let maxima = point
        .max_low_ns
        .map_or_else(String::new, |low| format!(" (from {} in single rounds)", ns(low)));
    format!(
        "{}, {} {}: mean {}{means}, the largest of {} is {}{maxima}",
        clean_cut(&line.name, NAME_MAX),
        number(point.x),
        clean_cut(x_name, 40),
        ns(point.mean_ns),
        count(point.n),
        ns(point.max_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, points: &[(f64, f64, f64)]) -> CurveLine {
        let point = |&(x, mean_ns, max_ns): &(f64, f64, f64)| CurvePoint {
            x,
            n: 1_000,
            mean_ns,
            means_ns: (x > 0.0).then_some((mean_ns * 0.9, mean_ns * 1.1)),
            max_ns,
            max_low_ns: (x > 0.0).then_some(max_ns * 0.8),
        };
        CurveLine { name: name.to_owned(), points: points.iter().map(point).collect() }
    }

    #[test]
    fn a_file_of_two_lines() {
        let hard = line("hard irq", &[(0.0, 7_200.0, 10_000.0), (40.0, 14_500.0, 37_000.0)]);
        let deferred = line("deferred", &[(0.0, 7_200.0, 10_000.0), (40.0, 8_900.0, 17_000.0)]);
        let notes = ["x86_64: kernel 6.12".to_owned()];
        let file = curve_file("Stacking", &notes, "threads", &[hard, deferred]).unwrap();
        let (_, drawn) = file.split_once("</style>").unwrap();
        insta::assert_snapshot!(drawn.replace('>', ">\n"));
    }

    #[test]
    fn no_number_is_lost_and_no_name_is_markup_whatever_the_points() {
        for points in [
            &[(0.0, 0.0, 0.0)][..],
            &[(5.0, 1e3, 1e7), (5.0, 1e3, 1e9)],
            &[(-3.0, 1.0, 2.0), (1e9, 1e18, 1.8e19)],
        ] {
            let lines: Vec<CurveLine> = (0..9).map(|_| line("<b>&", points)).collect();
            let page = curve("<threads>", &lines).into_string();
            let file = curve_file("<i>", &["<u>".to_owned()], "<threads>", &lines).unwrap();
            for text in [&page, &file] {
                for bad in ["NaN", "inf", "<b>", "<i>", "<u>", "<threads>"] {
                    assert!(!text.contains(bad), "{bad}: {text}");
                }
                assert!(text.contains("class=\"most line-5\"") && !text.contains("line-6"));
            }
        }
        assert!(curve("threads", &[]).into_string().is_empty());
        assert!(curve_file("none", &[], "threads", &[line("a", &[])]).is_none());
    }
}
