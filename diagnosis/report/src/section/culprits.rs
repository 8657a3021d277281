//! Who held the threads up.

use super::Section;
use crate::clean::cut;
use crate::data::Data;
use crate::names::{kind_words, pid_text, short_name};
use crate::page::share_cell;
use crate::palette::look;
use crate::shares::tenths;
use crate::text::{Align, Table, Terminal, share_bar};
use crate::units::{count, counted, duration, percent};
use maud::{Markup, html};
use std::io::{self, Write};
use tardy_explain::{CulpritFinding, Explanation};

pub(super) struct Culprits;

const BAR_COLUMNS: usize = 10;
const NAME_COLUMNS: usize = 24;

/// The culprits that are named, and the sum of the others, with shares that add up.
struct Ranking<'a> {
    named: &'a [CulpritFinding],
    others: u64,
    others_ns: u64,
    /// One per named culprit and, last, that of the others.
    tenths: Vec<u32>,
}

impl<'a> Ranking<'a> {
    fn new(explanation: &'a Explanation, max: usize) -> Self {
        let (named, others) = explanation.culprits.split_at(max.min(explanation.culprits.len()));
        let others_ns = others.iter().map(|culprit| culprit.ns).sum();
        let mut weights: Vec<u64> = named.iter().map(|culprit| culprit.ns).collect();
        weights.push(others_ns);
        Self { named, others: others.len() as u64, others_ns, tenths: tenths(&weights) }
    }
}

impl Section for Culprits {
    fn terminal(&self, data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        let Some(explanation) = data.explanation.filter(|e| !e.culprits.is_empty()) else {
            return Ok(());
        };
        let ranking = Ranking::new(explanation, data.limits.culprits_terminal);
        writeln!(out, "{}", terminal.bold("Who: culprits, by their share of all lateness"))?;
        let mut table = Table::new(&[
            Align::Left,
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Left,
            Align::Right,
            Align::Left,
        ])
        .can_do_without(&[5, 1, 2]);
        table.row(
            ["culprit", "kind", "pid", "time", "all", "", "wakeups", "mostly as"]
                .map(str::to_owned)
                .into(),
        );
        for (culprit, &share) in ranking.named.iter().zip(&ranking.tenths) {
            table.row(vec![
                cut(&short_name(&culprit.label), NAME_COLUMNS),
                kind_words(&culprit.label),
                pid_text(culprit.label.pid),
                duration(culprit.ns),
                percent(share),
                share_bar(share, BAR_COLUMNS),
                count(culprit.wakeups),
                culprit.main_cause.0.to_owned(),
            ]);
        }
        if ranking.others > 0 {
            let share = ranking.tenths[ranking.named.len()];
            table.row(vec![
                format!("{} more", count(ranking.others)),
                String::new(),
                String::new(),
                duration(ranking.others_ns),
                percent(share),
                share_bar(share, BAR_COLUMNS),
                String::new(),
                String::new(),
            ]);
        }
        table.write(out, terminal.width, |row, column, text| {
            match (row, column, ranking.named.get(row.wrapping_sub(1))) {
                (_, 5 | 7, Some(culprit)) => terminal.in_cause(culprit.main_cause, text),
                (0, ..) | (_, 1, _) | (.., None) => terminal.dim(text),
                _ => text.to_owned(),
            }
        })
    }

    fn html(&self, data: &Data<'_>) -> Markup {
        let Some(explanation) = data.explanation.filter(|e| !e.culprits.is_empty()) else {
            return Markup::default();
        };
        let ranking = Ranking::new(explanation, data.limits.culprits_page);
        html! {
            section #culprits {
                h2 { "Who: culprits" }
                div.scroll {
                    table {
                        thead { tr {
                            th { "culprit" } th { "kind" } th.number { "pid" } th.number { "time" }
                            th.number { "share of all" } th.number { "wakeups" } th { "mostly as" }
                        } }
                        tbody {
                            @for (culprit, &share) in ranking.named.iter().zip(&ranking.tenths) {
                                @let name = short_name(&culprit.label);
                                tr {
                                    th.name scope="row" title=(name) { bdi { (name) } }
                                    td { (kind_words(&culprit.label)) }
                                    td.number { (pid_text(culprit.label.pid)) }
                                    td.number { (duration(culprit.ns)) }
                                    (share_cell(share, &look(culprit.main_cause).hex()))
                                    td.number { (count(culprit.wakeups)) }
                                    td { (culprit.main_cause.0) }
                                }
                            }
                        }
                        @if ranking.others > 0 {
                            tfoot { tr {
                                th scope="row" { (counted(ranking.others, "more culprit")) }
                                td {} td {}
                                td.number { (duration(ranking.others_ns)) }
                                td.number { (percent(ranking.tenths[ranking.named.len()])) }
                                td {} td {}
                            } }
                        }
                    }
                }
            }
        }
    }
}
