//! How late.

use super::Section;
use crate::data::Data;
use crate::text::{Align, Table, Terminal};
use crate::units::{counted, duration, duration_mean, unbroken};
use maud::{Markup, html};
use std::io::{self, Write};
use tardy_stats::Latencies;

pub(super) struct Lateness;

/// A number of the headline.
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    /// How sure it is, or over how many it is.
    pub(crate) detail: String,
}

impl Section for Lateness {
    fn terminal(&self, data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", terminal.bold(&headline(data)))?;
        let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
        for Figure { name, value, detail } in figures(&data.latencies()) {
            table.row(vec![name.to_owned(), value, detail]);
        }
        table.write(out, terminal.width, |_, column, text| match column {
            1 => terminal.bold(text),
            2 => terminal.dim(text),
            _ => text.to_owned(),
        })
    }

    fn html(&self, data: &Data<'_>) -> Markup {
        html! {
            div #lateness {
                h2.quiet { (headline(data)) }
                div.figures {
                    @for figure in figures(&data.latencies()) {
                        div.figure {
                            div.name { (figure.name) }
                            div.value { (figure.value) }
                            div.detail { (unbroken(&figure.detail)) }
                        }
                    }
                }
            }
        }
    }
}

fn headline(data: &Data<'_>) -> String {
    // Series are those that are told apart.
    let others = data.explanation.map_or(0, |explanation| explanation.victims_left_out);
    let threads = data.series().len() as u64 + others;
    let all = counted(data.latencies().count(), "wakeup");
    format!("Lateness of {all} of {}", counted(threads, "thread"))
}

pub(crate) fn figures(latencies: &Latencies) -> Vec<Figure> {
    let n = counted(latencies.count(), "wakeup");
    if latencies.count() == 0 {
        return Vec::new();
    }
    let mean = duration_mean(latencies.mean_ns());
    let mut figures = vec![Figure { name: "mean", value: mean, detail: String::new() }];
    for (name, q) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
        let quantile = latencies.quantile(q);
        let (low, high) = (quantile.low_ns.map(duration), quantile.high_ns.map(duration));
        let detail = match (low, high) {
            (Some(low), Some(high)) => format!("95 % sure: {low} to {high}"),
            (Some(low), None) => format!("95 % sure: {low} or more; {n} cannot bound it"),
            (None, Some(high)) => format!("95 % sure: {high} or less; {n} cannot bound it"),
            (None, None) => format!("{n} cannot bound it"),
        };
        figures.push(Figure { name, value: duration(quantile.ns), detail });
    }
    let detail = format!("of {n}; a longer run may show a later one");
    figures.push(Figure { name: "max", value: duration(latencies.max_ns()), detail });
    figures
}
