//! Who arms timers, as lines with columns: for the report, for `tardy top`, for both kinds of screen.

mod column;

pub(crate) use column::per_second;
pub use column::{TimerColumn, TimerSort};

use crate::clean::clean;
use crate::text::{Align, Table, Terminal};
use crate::units::counted;
use std::io::{self, Write};
use tardy_explain::timers::{Counts, TimerKind, TimerRow, by_program};
use tardy_model::TaskId;

/// What was counted, over which time.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// What was counted.
    pub counts: Counts,
    /// Over this time, in nanoseconds.
    pub ns: u64,
}

/// A row with what came of late.
#[derive(Clone, Debug, Default)]
pub struct TimerUse {
    /// Since the start.
    pub row: TimerRow,
    /// In the last interval.
    pub now: Counts,
}

/// Which lines are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerGrouping {
    /// A line for each row.
    Threads,
    /// A line for each program, the sum of its rows: a process, or all processes of one name.
    Programs,
    /// Both: a program with more than one row, and its rows below.
    Tree,
}

/// A line: a row, or a program.
#[derive(Clone, Debug, Default)]
pub struct TimerLine {
    /// Who, clean.
    pub name: String,
    /// The thread's or the process' id; `None` for the kernel itself, for many processes and for all others.
    pub id: Option<u32>,
    /// Whether it is a row below its program.
    pub is_below: bool,
    /// What for, clean; of a program, how many rows it has.
    pub what: String,
    /// Of the last interval.
    pub now: Counted,
    /// Since the start.
    pub total: Counted,
}

/// Lines of `uses`, most first. `now_ns` is the interval that [`TimerUse::now`] counts, `total_ns` all
/// time.
pub fn timer_lines(
    uses: &[TimerUse],
    now_ns: u64,
    total_ns: u64,
    grouping: TimerGrouping,
    sort: TimerSort,
) -> Vec<TimerLine> {
    let line = |at: usize| line_of(&uses[at], now_ns, total_ns);
    if grouping == TimerGrouping::Threads {
        let mut lines: Vec<TimerLine> = (0..uses.len()).map(line).collect();
        sort.sort(&mut lines);
        return lines;
    }
    let rows: Vec<TimerRow> = uses.iter().map(|one| one.row.clone()).collect();
    let mut groups: Vec<(TimerLine, Vec<TimerLine>)> = by_program(&rows)
        .into_iter()
        .map(|program| {
            let mut below: Vec<TimerLine> = program.rows.iter().map(|at| line(*at)).collect();
            if let [only] = below.as_slice()
                && grouping == TimerGrouping::Tree
            {
                return (only.clone(), Vec::new());
            }
            let mut now = Counts::default();
            for at in &program.rows {
                now.add(&uses[*at].now);
            }
            let what = match below.as_slice() {
                [only] => only.what.clone(),
                rows => counted(rows.len() as u64, "row"),
            };
            let (name, id) = match program.processes {
                many @ 2.. => (format!("{} ({many} processes)", clean(&program.name)), None),
                _ => name_of(program.process, &program.name),
            };
            let now = Counted { counts: now, ns: now_ns };
            let total = Counted { counts: program.counts, ns: total_ns };
            sort.sort(&mut below);
            for line in &mut below {
                line.is_below = true;
            }
            (TimerLine { name, id, what, now, total, ..TimerLine::default() }, below)
        })
        .collect();
    groups.sort_by(|(one, _), (other, _)| sort.compare(one, other));
    let with_rows = grouping == TimerGrouping::Tree;
    groups
        .into_iter()
        .flat_map(|(line, below)| {
            let below = if with_rows { below } else { Vec::new() };
            std::iter::once(line).chain(below)
        })
        .collect()
}

fn line_of(one: &TimerUse, now_ns: u64, total_ns: u64) -> TimerLine {
    let row = &one.row;
    let thread = row.thread.map(|thread| thread.task);
    let name = row.thread.map(|thread| thread.name.to_string()).unwrap_or_default();
    let (mut name, id) = name_of(thread, &name);
    if thread == Some(TaskId::IDLE) && matches!(row.kind, Some(TimerKind::Call(_))) {
        // Somebody armed it before anybody looked.
        "not known".clone_into(&mut name);
    }
    TimerLine {
        name,
        id,
        is_below: false,
        what: clean(&row.what()),
        now: Counted { counts: one.now.clone(), ns: now_ns },
        total: Counted { counts: row.counts.clone(), ns: total_ns },
    }
}

fn name_of(task: Option<TaskId>, name: &str) -> (String, Option<u32>) {
    match task {
        None => ("all others".to_owned(), None),
        Some(TaskId::IDLE) => ("the kernel".to_owned(), None),
        Some(task) if name.is_empty() => (format!("thread {task}"), Some(task.0)),
        Some(task) => (clean(name), Some(task.0)),
    }
}

/// Writes lines as a table with a heading, at most `max` of them, and the rest in one more.
///
/// # Errors
/// Where `out` cannot be written.
pub fn timer_table(
    lines: &[TimerLine],
    columns: &[TimerColumn],
    max: usize,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let align = |column: &TimerColumn| if column.is_words() { Align::Left } else { Align::Right };
    let aligns: Vec<Align> = columns.iter().map(align).collect();
    let mut dispensable: Vec<usize> =
        (0..columns.len()).filter(|at| columns[*at].rank().is_some()).collect();
    dispensable.sort_by_key(|at| columns[*at].rank());
    let mut table = Table::new(&aligns).can_do_without(&dispensable);
    table.row(columns.iter().map(|column| column.heading().to_owned()).collect());
    for line in lines.iter().take(max) {
        table.row(columns.iter().map(|column| column.cell(line)).collect());
    }
    if let Some(rest) = rest_of(lines, max) {
        table.row(columns.iter().map(|column| column.cell(&rest)).collect());
    }
    table.write(
        out,
        terminal.width,
        |row, _, text| {
            if row == 0 { terminal.dim(text) } else { text.to_owned() }
        },
    )
}

/// What is not shown, in one line. Rows below a program are in its sum, wherever that is.
fn rest_of(lines: &[TimerLine], max: usize) -> Option<TimerLine> {
    let left = lines.get(max..).filter(|left| !left.is_empty())?;
    let mut rest = TimerLine {
        name: format!("{} more", left.len()),
        now: Counted { ns: left[0].now.ns, ..Counted::default() },
        total: Counted { ns: left[0].total.ns, ..Counted::default() },
        ..TimerLine::default()
    };
    for line in left.iter().filter(|line| !line.is_below) {
        rest.now.counts.add(&line.now.counts);
        rest.total.counts.add(&line.total.counts);
    }
    Some(rest)
}

#[cfg(test)]
mod tests;
