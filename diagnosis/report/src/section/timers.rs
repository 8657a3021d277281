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
            return writeln!(out, "  none: no timer event was recorded");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use tardy_explain::timers::{Counts, TimerKind, TimerRow, TimerThread};
    use tardy_model::TaskId;
    use tardy_model::event::{Call, Comm};

    fn found() -> TimerFindings {
        let row = |task, name, call, inflicted_ns| {
            let name = Comm::new(name);
            let thread = TimerThread {
                task: TaskId(task),
                name,
                process_name: name,
                ..TimerThread::default()
            };
            TimerRow {
                thread: Some(thread),
                kind: Some(TimerKind::Call(call)),
                function: "hrtimer_wakeup".to_owned(),
                counts: Counts { armed: 20, expired: 20, inflicted_ns, ..Counts::default() },
            }
        };
        let rows = vec![
            row(7, fixture::HOSTILE, Call::Poll, 0),
            row(8, "storm", Call::ClockNanosleep, 1_500),
        ];
        TimerFindings { rows, span_ns: 2_000_000_000 }
    }

    #[test]
    fn it_is_told_where_it_was_asked_for_and_hostile_names_are_spelt_out() {
        fixture::with_data(|data| {
            let told = |data: &Data<'_>| {
                let mut out = Vec::new();
                Timers.terminal(data, Terminal::default(), &mut out).unwrap();
                (String::from_utf8(out).unwrap(), Timers.html(data).into_string())
            };
            assert_eq!(told(data), (String::new(), String::new()));
            let found = found();
            let (text, page) = told(&Data { timers: Some(&found), ..*data });
            insta::assert_snapshot!(text);
            assert!(page.contains("<td class=\"number\"><bdi>1.5 µs</bdi></td>"), "{page}");
            assert!(!text.contains('\u{1b}') && !page.contains("<b>"), "{page}");
        });
    }

    #[test]
    fn a_recording_without_timers_says_so() {
        fixture::with_data(|data| {
            let none = TimerFindings::default();
            let mut out = Vec::new();
            let data = Data { timers: Some(&none), ..*data };
            Timers.terminal(&data, Terminal::default(), &mut out).unwrap();
            assert!(String::from_utf8(out).unwrap().contains("no timer event was recorded"));
        });
    }
}
