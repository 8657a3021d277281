//! Who arms timers, where that was asked for.

use super::Section;
use crate::data::Data;
use crate::text::Terminal;
use crate::timers::{
    TimerColumn, TimerGrouping, TimerLine, TimerSort, TimerUse, timer_lines, timer_table,
};
use crate::units::{count, duration};
use maud::{Markup, html};
use std::io::{self, Write};
use tardy_explain::timers::TimerFindings;

pub(super) struct Timers;

/// Lines shown on the terminal.
const TERMINAL_MAX: usize = 40;
/// Lines shown on the page.
const PAGE_MAX: usize = 400;

const TITLE: &str = "Who arms timers";

const COLUMNS: [TimerColumn; 11] = [
    TimerColumn::Name,
    TimerColumn::Id,
    TimerColumn::Armed,
    TimerColumn::Cancelled,
    TimerColumn::Expired,
    TimerColumn::CancelledShare,
    TimerColumn::ProgrammedShare,
    TimerColumn::CostTotal,
    TimerColumn::Slack,
    TimerColumn::SlackRange,
    TimerColumn::What,
];

const LEGEND: &str = "canc%: of the armings that ended, those that were cancelled. prog%: of the armings, \
    those for which the clock-event device was programmed at once. cost: lateness of other threads, of \
    those explained here, in which these timers are the culprit.";

fn lines(found: &TimerFindings) -> Vec<TimerLine> {
    let once = |row: &tardy_explain::timers::TimerRow| TimerUse {
        row: row.clone(),
        now: row.counts.clone(),
    };
    let uses: Vec<TimerUse> = found.rows.iter().map(once).collect();
    timer_lines(&uses, found.span_ns, found.span_ns, TimerGrouping::Tree, TimerSort::Cost)
}

impl Section for Timers {
    fn terminal(&self, data: &Data<'_>, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        let Some(found) = data.timers else { return Ok(()) };
        let over = format!("{TITLE}, over {}", duration(found.span_ns));
        writeln!(out, "{}", terminal.bold(&over))?;
        if found.rows.is_empty() {
            return writeln!(out, "  nobody: no event of a timer was recorded");
        }
        timer_table(&lines(found), &COLUMNS, TERMINAL_MAX, terminal, out)?;
        for line in textwrap::wrap(LEGEND, terminal.width - 2) {
            writeln!(out, "  {}", terminal.dim(&line))?;
        }
        Ok(())
    }

    fn html(&self, data: &Data<'_>) -> Markup {
        let Some(found) = data.timers.filter(|found| !found.rows.is_empty()) else {
            return Markup::default();
        };
        let lines = lines(found);
        let left = lines.len().saturating_sub(PAGE_MAX);
        html! {
            section #timers {
                h2 { (TITLE) }
                div.scroll {
                    table {
                        thead { tr {
                            @for column in COLUMNS {
                                th.number[!column.is_words()] { (column.heading()) }
                            }
                        } }
                        tbody {
                            @for line in lines.iter().take(PAGE_MAX) {
                                tr {
                                    @for column in COLUMNS {
                                        td.number[!column.is_words()] { bdi { (column.cell(line)) } }
                                    }
                                }
                            }
                        }
                    }
                }
                @if left > 0 { p.note { "and " (count(left as u64)) " more" } }
                p.note { (LEGEND) }
            }
        }
    }
}
