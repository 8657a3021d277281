//! One table, or one JSON document, after the other.

use super::watcher::Look;
use super::{Pace, TIMER_COLUMNS, View, Which};
use crate::document::Document;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::session::Stream;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{Duration, Instant};
use tardy_explain::lateness::ROWS_MAX;
use tardy_report::json::{LateDocument, TimerUseDocument, TopDocument};
use tardy_report::units::{count, duration};
use tardy_report::{Terminal, late_table, timer_lines, timer_table};

/// Columns where there is no terminal: enough for every one.
const WIDTH: usize = 160;

/// A wakeup counts a second after its end.
const SETTLES: Duration = Duration::from_millis(1_200);

/// How often Ctrl-C is looked for.
const ATTENTION: Duration = Duration::from_millis(50);

pub(super) fn show(
    stream: &Stream,
    view: View,
    mut pace: Pace,
    json: bool,
    interrupt: &Interrupt,
    mut look: impl FnMut() -> Look,
) -> Result<(), Failure> {
    let mut out = crate::output::raw().lock();
    // Whether the time came before the end did.
    let waits_for = |time: Duration| {
        let due = Instant::now() + time;
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            if interrupt.is_asked() || stream.has_ended() {
                return false;
            }
            std::thread::sleep(left.min(ATTENTION));
        }
    };
    // The first table is of as long a time as the others, and of wakeups that count already.
    if !waits_for(SETTLES) {
        return Ok(());
    }
    look();
    pace.begins();
    for iteration in 1.. {
        if !waits_for(pace.until_next()) {
            return Ok(());
        }
        let look = look();
        if json {
            let document = document(&look, stream, view, iteration);
            serde_json::to_writer(Document::new(&mut out), &document)?;
            writeln!(out)?;
        } else {
            if iteration > 1 {
                writeln!(out)?;
            }
            table(&look, stream, view, &mut out)?;
        }
        out.flush()?;
        if !pace.looked() {
            break;
        }
    }
    Ok(())
}

fn document<'a>(look: &Look, stream: &'a Stream, view: View, iteration: u64) -> TopDocument<'a> {
    let mut late = look.late.clone();
    view.late.sort(&mut late);
    let row = |one| TimerUseDocument::new(one, look.interval_ns, look.total_ns);
    TopDocument {
        schema: TopDocument::SCHEMA,
        iteration,
        source: stream.source,
        interval_ns: look.interval_ns,
        total_ns: look.total_ns,
        events: look.events,
        lost: look.lost,
        notes: &stream.notes,
        victims: late.iter().map(LateDocument::from).collect(),
        timers: look.uses.iter().map(row).collect(),
    }
}

fn table(look: &Look, stream: &Stream, view: View, out: &mut dyn Write) -> io::Result<()> {
    let terminal = Terminal::of_stdout_or(WIDTH);
    let terminal = Terminal { colour: terminal.colour && view.colour, ..terminal };
    let (before, lost, after) = summary(look, stream.source);
    writeln!(out, "tardy top - {before}{lost}{after}")?;
    if view.which == Which::Late {
        let mut late = look.late.clone();
        view.late.sort(&mut late);
        let left_out = late.len().saturating_sub(view.rows);
        late.truncate(view.rows);
        late_table(&late, terminal, out)?;
        return more(left_out, out);
    }
    let lines =
        timer_lines(&look.uses, look.interval_ns, look.total_ns, view.grouping, view.timers);
    timer_table(&lines, &TIMER_COLUMNS, view.rows, terminal, out)?;
    more(lines.len().saturating_sub(view.rows), out)
}

fn more(left_out: usize, out: &mut dyn Write) -> io::Result<()> {
    if left_out > 0 {
        writeln!(out, "  {} more", count(left_out as u64))?;
    }
    Ok(())
}

/// Where the events come from and how many; what was lost of them; and for how long.
pub(super) fn summary(look: &Look, source: &str) -> (String, String, String) {
    let rate = look.events as f64 * 1e9 / look.interval_ns.max(1) as f64;
    let lost = match look.lost_total {
        0 => "none lost".to_owned(),
        all => format!("{} lost, {} in all", count(look.lost), count(all)),
    };
    let before = format!("{source}, {} events/s, ", count(rate as u64));
    let mut after = format!(", for {}", duration(look.total_ns));
    if look.left_out > 0 {
        let (left_out, most) = (count(look.left_out), count(ROWS_MAX as u64));
        let _ = write!(after, "; {left_out} wakeups left out, of more than {most} threads");
    }
    (before, lost, after)
}
