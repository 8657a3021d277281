//! Each watched thread by itself.

use super::Section;
use crate::clean::{clean, clean_cut};
use crate::data::Data;
use crate::names::pid_text;
use crate::text::{Align, Table, Terminal};
use crate::units::{count, duration, duration_mean};
use maud::{Markup, html};
use std::io::{self, Write};
use tardy_stats::Latencies;

pub(super) struct Victims;

/// Threads shown on the terminal.
const TERMINAL_MAX: usize = 10;
/// Threads shown on the page.
const PAGE_MAX: usize = 200;

impl Section for Victims {
    fn terminal(&self, data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        let Some(explanation) = data.explanation.filter(|e| e.victims.len() > 1) else {
            return Ok(());
        };
        writeln!(out, "{}", terminal.bold("Late threads"))?;
        let mut table = Table::new(&[
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
        ])
        .can_do_without(&[1, 4, 6]);
        table.row(
            ["thread", "pid", "wakeups", "mean", "p50", "p99", "p99.9", "max"]
                .map(str::to_owned)
                .into(),
        );
        for victim in explanation.victims.iter().take(TERMINAL_MAX) {
            let mut row = vec![clean_cut(&victim.label.name, 20), pid_text(victim.label.pid)];
            row.extend(numbers(&victim.latencies));
            table.row(row);
        }
        table.write(out, terminal.width, |row, _, text| {
            if row == 0 { terminal.dim(text) } else { text.to_owned() }
        })?;
        if let Some(more) = explanation.victims.len().checked_sub(TERMINAL_MAX + 1) {
            writeln!(out, "  {}", terminal.dim(&format!("and {} more", count(more as u64 + 1))))?;
        }
        Ok(())
    }

    fn html(&self, data: &Data<'_>) -> Markup {
        let Some(explanation) = data.explanation.filter(|e| !e.victims.is_empty()) else {
            return Markup::default();
        };
        let victims = &explanation.victims;
        html! {
            section #victims {
                h2 { "Late threads" }
                div.scroll {
                    table {
                        thead { tr {
                            th { "thread" } th.number { "pid" } th.number { "wakeups" }
                            th.number { "mean" } th.number { "p50" } th.number { "p99" }
                            th.number { "p99.9" } th.number { "max" }
                        } }
                        tbody {
                            @for victim in victims.iter().take(PAGE_MAX) {
                                @let name = clean(&victim.label.name);
                                tr {
                                    th.name scope="row" title=(name) { bdi { (name) } }
                                    td.number { (pid_text(victim.label.pid)) }
                                    @for number in numbers(&victim.latencies) {
                                        td.number { (number) }
                                    }
                                }
                            }
                        }
                    }
                }
                @if let Some(more) = victims.len().checked_sub(PAGE_MAX + 1) {
                    p.note { "and " (count(more as u64 + 1)) " more" }
                }
            }
        }
    }
}

/// Count, mean, three quantiles and the maximum.
pub(crate) fn numbers(latencies: &Latencies) -> [String; 6] {
    [
        count(latencies.count()),
        duration_mean(latencies.mean_ns()),
        duration(latencies.quantile_ns(0.5)),
        duration(latencies.quantile_ns(0.99)),
        duration(latencies.quantile_ns(0.999)),
        duration(latencies.max_ns()),
    ]
}
