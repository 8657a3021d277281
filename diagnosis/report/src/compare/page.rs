//! A comparison as a page.

use super::GateVerdict;
use super::words::{basis_sentence, letter, verdict_sentence, with_interval};
use super::{Compared, Subject, quantile_name, table};
use crate::clean::{clean, clean_cut};
use crate::page::document;
use crate::plot::{self, DifferenceLine, LINES_MAX, Line};
use crate::units::unbroken;
use maud::{Markup, html};
use tardy_stats::Interval;
use tardy_stats::ab::BandPoint;

/// A comparison as one HTML page that loads nothing.
pub fn compare_page(compared: &Compared) -> String {
    let names: Vec<String> = compared
        .sides
        .iter()
        .enumerate()
        .map(|(place, side)| format!("{} {}", letter(place), side.name))
        .collect();
    let title = match &compared.sides[..] {
        [] => "A comparison".to_owned(),
        sides => {
            let names: Vec<String> = sides.iter().map(|side| clean_cut(&side.name, 40)).collect();
            format!("{} compared", names.join(", "))
        }
    };
    document(
        &title,
        &html! {
            (header(compared, &title))
            @for subject in &compared.subjects { (subject_section(subject, &names)) }
            (notes(compared))
        },
    )
}

fn header(compared: &Compared, title: &str) -> Markup {
    html! {
        header {
            h1 { (title) }
            ul.legend {
                @for (place, side) in compared.sides.iter().enumerate() {
                    li class=(format!("line-{}", place % LINES_MAX)) {
                        (super::text::side_line(place, side))
                    }
                }
            }
            @for warning in &compared.warnings { p.guest { (clean_cut(warning, 600)) } }
            ul.sentences {
                @for subject in &compared.subjects {
                    @for place in 1..subject.sides.len() {
                        li {
                            @if !subject.name.is_empty() { b { bdi { (clean_cut(&subject.name, 40)) } ": " } }
                            (unbroken(&verdict_sentence(subject, place)))
                        }
                    }
                }
                @for gate in &compared.gates {
                    li.gate.failed[gate.verdict() == GateVerdict::Failed] { (unbroken(&gate.sentence())) }
                }
            }
        }
    }
}

fn subject_section(subject: &Subject, names: &[String]) -> Markup {
    let wholes: Vec<_> = subject.sides.iter().map(|side| side.sample.whole()).collect();
    let lines: Vec<Line<'_>> = wholes
        .iter()
        .zip(&subject.sides)
        .enumerate()
        .filter(|(_, (whole, _))| !whole.is_empty())
        .map(|(place, (values, side))| Line {
            name: names.get(place).map_or("", String::as_str),
            colour: place,
            values,
            resolution_ns: side.sample.resolution_ns,
            known_share: 1.0 - side.over_bins as f64 / values.count() as f64,
        })
        .collect();
    let heads: Vec<String> = (1..subject.sides.len())
        .map(|place| format!("{} − {}", letter(place), letter(0)))
        .collect();
    let bands: Vec<DifferenceLine<'_>> = subject
        .comparisons
        .iter()
        .zip(&heads)
        .enumerate()
        .map(|(at, (comparison, name))| DifferenceLine {
            name,
            colour: at + 1,
            band: comparison
                .band
                .iter()
                .filter(|point| super::words::tells(subject, at + 1, point.q))
                .copied()
                .collect::<Vec<BandPoint>>(),
        })
        .filter(|line| !line.band.is_empty())
        .collect();
    let is_cut = subject.sides.iter().any(|side| side.over_bins > 0);
    html! {
        section.subject {
            h2 {
                @if subject.name.is_empty() { "Figures" } @else { bdi { (clean(&subject.name)) } }
            }
            div.scroll { (figures(subject)) }
            p.note { (table::legend(subject)) }
            @for place in 1..subject.sides.len() {
                @if let Some(sentence) = basis_sentence(subject, place) { p.note { (sentence) } }
            }
            @for side in &subject.sides {
                @if let Some(tail) = &side.tail { p.note { (unbroken(&clean(tail))) } }
            }
            @if !lines.is_empty() {
                h3 { "How often which latency" }
                p.note {
                    "Up: the share of a side's values per µs of latency, on a logarithmic scale. A "
                    "single value is still a step."
                    @if is_cut { " Values above a histogram's bins stand where its bins end, but for the "
                        "latest, where the file tells it." }
                }
                (plot::histogram(&lines))
                h3 { "How often later than that" }
                p.note {
                    "The share of values above a latency. Shaded: where the true share lies, 95 % sure "
                    "at each place, taking values for independent."
                    @if is_cut { " A line ends where a histogram's bins do." }
                }
                (plot::ccdf(&lines))
            }
            @if !bands.is_empty() {
                h3 { "How much later" }
                p.note {
                    "The difference at each quantile, above 0 where the side is later than A. Shaded: "
                    "where the true difference lies, 95 % sure at each place. Each step to the right is "
                    "a tenth of the values before it."
                }
                (plot::differences(&bands))
            }
        }
    }
}

fn figures(subject: &Subject) -> Markup {
    let sides = subject.sides.len();
    html! {
        table {
            thead {
                tr {
                    th {}
                    @for place in 0..sides { th.number { (letter(place)) } }
                    @for place in 1..sides {
                        th.number { (table::difference_head(place)) }
                        th.number { "p" }
                    }
                }
            }
            tbody {
                @for line in table::lines(subject) {
                    tr {
                        th { (line.name) }
                        @for cell in &line.sides { td.number { (unbroken(cell)) } }
                        @for difference in &line.differences {
                            @let (value, p) = difference.clone().unwrap_or_default();
                            td.number { (unbroken(&value)) }
                            td.number { (p) }
                        }
                    }
                }
            }
        }
    }
}

fn notes(compared: &Compared) -> Markup {
    let notes: Vec<(usize, &String)> = compared
        .sides
        .iter()
        .enumerate()
        .flat_map(|(place, side)| side.notes.iter().map(move |note| (place, note)))
        .collect();
    if notes.is_empty() {
        return Markup::default();
    }
    html! {
        section #notes {
            h2 { "Notes" }
            ul { @for (place, note) in notes { li { (letter(place)) ": " (clean_cut(note, 400)) } } }
        }
    }
}

/// A point of a band, in words.
pub(crate) fn at_point(q: f64, b_minus_a: Interval) -> String {
    format!("at {}: {}", quantile_name(q), with_interval(b_minus_a))
}
