//! A comparison as a page.

use super::GateVerdict;
use super::change::{self, ChangeLine, Changed};
use super::text::no_change;
use super::words::{basis_sentence, name, verdict_sentence, with_interval};
use super::{Compared, SettingsCompared, SideFacts, Subject, quantile_name, table};
use crate::clean::{clean, clean_cut};
use crate::page::document;
use crate::plot::{self, DifferenceLine, LINES_MAX, Line};
use crate::units::unbroken;
use maud::{Markup, html};
use tardy_explain::change::{Change, ChangeOf};
use tardy_stats::Interval;
use tardy_stats::ab::BandPoint;

/// Columns of a setting's name and of its value.
const SETTING_WIDTHS: [usize; 2] = [60, 80];

/// Causes and culprits of a table of changes.
const ROWS_MAX: usize = 30;

/// A comparison as one HTML page that loads nothing.
pub fn compare_page(compared: &Compared) -> String {
    let names = compared.names();
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
            (settings(compared))
            @if !compared.changes.is_empty() {
                section #changed { h2 { "What changed" } (changes(&names, &compared.changes)) }
            }
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
                        (super::text::side_line(side))
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
        .map(|place| format!("{} − {}", name(subject, place), name(subject, 0)))
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
    let rows = table::lines(subject);
    html! {
        section.subject {
            h2 {
                @if subject.name.is_empty() { "Figures" } @else { bdi { (clean(&subject.name)) } }
            }
            div.scroll { (figures(subject, &rows)) }
            p.note { (table::legend(subject, &rows)) }
            @for place in 1..subject.sides.len() {
                @if let Some(sentence) = basis_sentence(subject, place) { p.note { (sentence) } }
            }
            @for side in &subject.sides {
                @if let Some(tail) = &side.tail { p.note { (unbroken(&clean(tail))) } }
            }
            (changes(names, &subject.changes))
            @if !lines.is_empty() {
                h3 { "How often each latency occurs" }
                p.note {
                    "Vertical: the share of a side's values per µs of latency, on a logarithmic \
                        scale. A "
                    "single value is still visible."
                    @if is_cut { " Values above a histogram's bins are drawn where its bins end, \
                        except for the "
                        "latest, if the file has it." }
                }
                (plot::histogram(&lines))
                h3 { "How often later than a given time" }
                p.note {
                    "The share of values above a latency. Shaded: where the true share lies, 95 % sure "
                    "at each place, treating values as independent."
                    @if is_cut { " A line ends where a histogram's bins end." }
                }
                (plot::ccdf(&lines))
            }
            @if !bands.is_empty() {
                h3 { "How much later" }
                p.note {
                    "The difference at each quantile, above 0 where the side is later than the first. Shaded: "
                    "where the true difference lies, 95 % sure at each place. Each step to the right is "
                    "a tenth of the values before it."
                }
                (plot::differences(&bands))
            }
        }
    }
}

fn figures(subject: &Subject, lines: &[table::Line]) -> Markup {
    let sides = subject.sides.len();
    html! {
        table {
            thead {
                tr {
                    th {}
                    @for place in 0..sides { th.number { (name(subject, place)) } }
                    @for place in 1..sides {
                        th.number { (table::difference_head(subject, place)) }
                        th.number { "p" }
                    }
                }
            }
            tbody {
                @for line in lines {
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

/// Settings that differ.
fn settings(compared: &Compared) -> Markup {
    let settings = &compared.settings;
    if settings.silent.len() == compared.sides.len() {
        return Markup::default();
    }
    html! {
        section #settings {
            h2 { (settings.heading()) }
            @if let Some(sentence) = settings.silence(&compared.sides) { p.note { (sentence) } }
            @if !settings.differing.is_empty() {
                div.scroll {
                    table {
                        thead { tr { th {} @for name in compared.names() { th { (name) } } } }
                        tbody {
                            @for setting in &settings.differing {
                                @let cells = SettingsCompared::cells(setting, SETTING_WIDTHS);
                                tr { th { (cells[0]) } @for cell in &cells[1..] { td { (cell) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What changed for each later side.
fn changes(names: &[String], changes: &[Changed]) -> Markup {
    html! {
        @for (place, changed) in (1..).zip(changes) {
            h3 { (names[0]) " → " (names[place]) }
            @match changed {
                Ok(change) => { (change_table(change)) p.note { (change::worst_of(change)) } }
                Err(why) => p.note { (no_change(names, place, why)) }
            }
        }
    }
}

fn change_table(change: &Change) -> Markup {
    let numbers = |adds: &ChangeOf| {
        html! {
            td.number { (unbroken(&change::exact(adds.mean_ns))) }
            td.number { (unbroken(&change::exact(adds.worst_ns))) }
        }
    };
    let rows = |lines: &[ChangeLine], whose: &str| {
        html! {
            tr { th { (whose) } th.number { "mean of all" } th.number { "worst 1 % mean" } }
            @for line in lines {
                tr { th.who { (line.letter()) " " bdi { (line.name) } } (numbers(&line.adds)) }
            }
            tr { th { "together" } (numbers(&change.total)) }
        }
    };
    html! {
        div.scroll {
            table {
                tbody {
                    (rows(&change::causes(change, ROWS_MAX), "by cause"))
                    (rows(&change::culprits(change, ROWS_MAX), "by culprit"))
                }
            }
        }
    }
}

fn notes(compared: &Compared) -> Markup {
    let of = |side: &'_ SideFacts| -> Vec<(String, String)> {
        side.notes.iter().map(|note| (side.short_name(), clean_cut(note, 400))).collect()
    };
    let notes: Vec<(String, String)> = compared.sides.iter().flat_map(of).collect();
    if notes.is_empty() {
        return Markup::default();
    }
    html! {
        section #notes {
            h2 { "Notes" }
            ul { @for (side, note) in notes { li { bdi { (side) } ": " (note) } } }
        }
    }
}

/// A point of a band, in words.
pub(crate) fn at_point(q: f64, b_minus_a: Interval) -> String {
    format!("at {}: {}", quantile_name(q), with_interval(b_minus_a))
}
