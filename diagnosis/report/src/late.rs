//! Who is late right now, as lines with columns: for `tardy top`, on its screen and in its plain tables.

use crate::clean::clean;
use crate::palette::look;
use crate::text::{Align, Table, Terminal};
use crate::units::{count, duration};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::io::{self, Write};
use tardy_explain::lateness::LateRow;
use tardy_model::Cause;

/// Looks that a trend shows.
pub const TREND: usize = 8;

/// A thread, with what came of late.
#[derive(Clone, Debug, Default)]
pub struct LateLine {
    /// What was found.
    pub row: LateRow,
    /// The interval that [`LateRow::now`] counts, in nanoseconds.
    pub now_ns: u64,
    /// The latest wakeup of each of the last looks, ns; 0 where there was none.
    pub trend: VecDeque<u64>,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateColumn {
    /// The thread, with its program where that is called otherwise.
    Name,
    /// Its id.
    Id,
    /// Wakeups a second.
    Rate,
    /// How late all of them were together, for each second.
    Sum,
    /// How late half of them are at most.
    Median,
    /// How late 99 % of them are at most.
    P99,
    /// The latest.
    Max,
    /// Of how many.
    Count,
    /// The latest of each of the last looks.
    Trend,
    /// The letter of the cause that took most.
    Letter,
    /// That cause.
    Cause,
    /// Who took most as that.
    Culprit,
}

/// By what lines are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateSort {
    /// All lateness of the interval, then since the start.
    Late,
    /// The latest wakeup.
    Max,
    /// How late 99 % are at most.
    P99,
    /// Wakeups in the interval.
    Rate,
    /// The name, from A to Z.
    Name,
}

/// What a label's kind is of a kernel thread.
const KERNEL_THREAD: &str = "kernel_task";

/// Nothing to tell.
const NONE: &str = "–";

/// The least for which a trend is not flat: below, machines differ in how long they take to wake anybody.
const FLAT_NS: u64 = 10_000;

const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl LateColumn {
    /// All, in their order.
    pub const ALL: [Self; 12] = [
        Self::Name,
        Self::Id,
        Self::Rate,
        Self::Sum,
        Self::Median,
        Self::P99,
        Self::Max,
        Self::Count,
        Self::Trend,
        Self::Letter,
        Self::Cause,
        Self::Culprit,
    ];

    /// What stands above it.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Name => "thread",
            Self::Id => "id",
            Self::Rate => "wake/s",
            Self::Sum => "late/s",
            Self::Median => "p50",
            Self::P99 => "p99",
            Self::Max => "max",
            Self::Count => "of n",
            Self::Trend => "trend",
            Self::Letter => "",
            Self::Cause => "mostly",
            Self::Culprit => "by",
        }
    }

    /// Whether it holds words, which stand on the left.
    pub fn is_words(self) -> bool {
        matches!(self, Self::Name | Self::Trend | Self::Letter | Self::Cause | Self::Culprit)
    }

    /// Where there is little room columns go, the least rank first; those without one stay.
    pub fn rank(self) -> Option<u8> {
        match self {
            Self::Count => Some(0),
            Self::Cause => Some(1),
            Self::Sum => Some(2),
            Self::Trend => Some(3),
            Self::Rate => Some(4),
            Self::Median => Some(5),
            _ => None,
        }
    }

    /// A line's cell, clean.
    pub fn cell(self, line: &LateLine) -> String {
        let row = &line.row;
        match self {
            Self::Name => name(row),
            Self::Id => row.task.to_string(),
            Self::Rate => rate(row.now.count, line.now_ns),
            Self::Sum => sum(row.now.sum_ns, line.now_ns),
            Self::Median => short(row.p50_ns),
            Self::P99 => short(row.p99_ns),
            Self::Max => short(row.max_ns),
            Self::Count => count(row.count),
            Self::Trend => trend(&line.trend),
            Self::Letter => {
                row.cause.map_or_else(String::new, |cause| look(cause).letter.to_string())
            }
            Self::Cause => row.cause.map_or_else(|| NONE.to_owned(), |cause| cause.0.to_owned()),
            Self::Culprit if row.culprit.is_empty() => NONE.to_owned(),
            Self::Culprit => clean(&row.culprit),
        }
    }
}

/// `sshd`, or `firefox/Compositor` where a thread is called otherwise than its program.
fn name(row: &LateRow) -> String {
    let (thread, process) = (clean(&row.label.name), clean(&row.process.to_string()));
    if row.label.kind == KERNEL_THREAD {
        // As ps has them.
        format!("[{thread}]")
    } else if process.is_empty() || thread.starts_with(&process) {
        thread
    } else {
        format!("{process}/{thread}")
    }
}

/// A duration in six columns.
fn short(ns: u64) -> String {
    let text = duration(ns).replace(' ', "");
    match text.find('.') {
        Some(3) => {
            text[..3].to_owned() + text[3..].trim_start_matches(|c: char| !c.is_alphabetic())
        }
        _ => text,
    }
}

fn rate(times: u64, ns: u64) -> String {
    let rate = if ns == 0 { 0.0 } else { times as f64 * 1e9 / ns as f64 };
    match rate {
        0.0 => NONE.to_owned(),
        0.0..9.95 => format!("{rate:.1}"),
        _ => count(rate.round() as u64),
    }
}

/// What they were late by in a second: what lines are sorted by.
fn sum(sum_ns: u64, ns: u64) -> String {
    if sum_ns == 0 || ns == 0 {
        return NONE.to_owned();
    }
    let in_a_second = u128::from(sum_ns) * 1_000_000_000 / u128::from(ns);
    short(u64::try_from(in_a_second).unwrap_or(u64::MAX))
}

/// A mark for each look, by doublings from the least of them to the most: latenesses differ by orders of magnitude.
fn trend(values: &VecDeque<u64>) -> String {
    let known = values.iter().copied().filter(|ns| *ns > 0);
    let Some(most) = known.clone().max() else { return String::new() };
    let least = known.min().unwrap_or(most).max(FLAT_NS);
    let height = (most.max(1) as f64 / least as f64).log2().max(1.0);
    let step = |ns: &u64| match *ns {
        0 => ' ',
        ns => {
            let above = (ns as f64 / least as f64).log2().max(0.0) / height;
            STEPS[((above * 7.0).round() as usize).min(7)]
        }
    };
    values.iter().map(step).collect()
}

impl LateSort {
    /// All, with the key and the name of each.
    pub const ALL: [(Self, char, &'static str); 5] = [
        (Self::Late, 'l', "lateness"),
        (Self::Max, 'm', "max"),
        (Self::P99, '9', "p99"),
        (Self::Rate, 'r', "rate"),
        (Self::Name, 'n', "name"),
    ];

    /// Sorts lines.
    pub fn sort(self, lines: &mut [LateLine]) {
        lines.sort_by(|a, b| {
            let by_task = a.row.task.cmp(&b.row.task);
            let key = |line: &LateLine| match self {
                Self::Late => (Reverse(line.row.now.sum_ns), Reverse(line.row.sum_ns)),
                Self::Max => (Reverse(line.row.max_ns), Reverse(line.row.p99_ns)),
                Self::P99 => (Reverse(line.row.p99_ns), Reverse(line.row.max_ns)),
                Self::Rate => (Reverse(line.row.now.count), Reverse(line.row.count)),
                Self::Name => (Reverse(0), Reverse(0)),
            };
            let by_name = match self {
                Self::Name => a.row.label.name.cmp(&b.row.label.name),
                _ => key(a).cmp(&key(b)),
            };
            by_name.then(by_task)
        });
    }
}

impl LateLine {
    /// The cause that took most.
    pub fn cause(&self) -> Option<Cause> {
        self.row.cause
    }

    /// Whether any of what is shown of it contains these words, whatever their case.
    pub fn matches(&self, words: &str) -> bool {
        let words = words.to_lowercase();
        LateColumn::ALL.iter().filter(|column| column.is_words() || **column == LateColumn::Id).any(
            |column| {
                !matches!(column, LateColumn::Trend | LateColumn::Letter)
                    && column.cell(self).to_lowercase().contains(&words)
            },
        )
    }
}

/// Writes lines as a table with a heading.
///
/// # Errors
/// Where `out` cannot be written.
pub fn late_table(lines: &[LateLine], terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let columns = LateColumn::ALL;
    let aligns = columns.map(|it| if it.is_words() { Align::Left } else { Align::Right });
    let mut dispensable: Vec<usize> =
        (0..columns.len()).filter(|at| columns[*at].rank().is_some()).collect();
    dispensable.sort_by_key(|at| columns[*at].rank());
    let mut table = Table::new(&aligns).can_do_without(&dispensable);
    table.row(columns.iter().map(|column| column.heading().to_owned()).collect());
    for line in lines {
        table.row(columns.iter().map(|column| column.cell(line)).collect());
    }
    table.write(out, terminal.width, |row, column, text| match (row, columns.get(column)) {
        (0, _) => terminal.dim(text),
        (row, Some(LateColumn::Letter | LateColumn::Cause)) => match lines[row - 1].cause() {
            Some(cause) => terminal.in_cause(cause, text),
            None => text.to_owned(),
        },
        _ => text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_explain::Label;
    use tardy_explain::lateness::Interval;
    use tardy_model::TaskId;
    use tardy_model::event::Comm;

    fn line(task: u32, thread: &str, process: &str, max_ns: u64) -> LateLine {
        let label = Label { kind: "task", name: thread.to_owned(), pid: Some(task) };
        let row = LateRow {
            task: TaskId(task),
            label,
            process: Comm::new(process),
            count: 1200,
            p50_ns: 20_000,
            p99_ns: 80_000,
            max_ns,
            sum_ns: 3_000_000,
            now: Interval { count: 100, max_ns, sum_ns: u64::from(task) * 1000 },
            cause: Some(Cause("higher_priority")),
            culprit: "hackbench (400 threads)".to_owned(),
        };
        let trend = [0, 10_000, 20_000, 40_000, 640_000].into();
        LateLine { row, now_ns: 1_000_000_000, trend }
    }

    #[test]
    fn as_a_reader_sees_it() {
        let lines =
            [line(7, "tick", "tick", 1_850_000), line(812, "Compositor", "firefox", 92_000)];
        let mut out = Vec::new();
        late_table(&lines, Terminal { width: 120, colour: false }, &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn a_kernel_thread_stands_in_brackets() {
        let mut line = line(15, "rcu_preempt", "", 9);
        assert_eq!(LateColumn::Name.cell(&line), "rcu_preempt");
        line.row.label.kind = KERNEL_THREAD;
        assert_eq!(LateColumn::Name.cell(&line), "[rcu_preempt]");
        assert!(line.matches("rcu_"));
    }

    #[test]
    fn lines_are_sorted_and_found_by_what_is_shown() {
        let mut lines = vec![line(7, "b", "b", 9), line(9, "a", "a", 8)];
        let order =
            |lines: &[LateLine]| lines.iter().map(|line| line.row.task.0).collect::<Vec<_>>();
        for (sort, expected) in [
            (LateSort::Late, [9, 7]),
            (LateSort::Max, [7, 9]),
            (LateSort::Name, [9, 7]),
            (LateSort::Rate, [7, 9]),
        ] {
            sort.sort(&mut lines);
            assert_eq!(order(&lines), expected, "{sort:?}");
        }
        assert!(lines[0].matches("HACK") && lines[0].matches("higher") && !lines[0].matches("zsh"));
    }

    #[test]
    fn a_trend_tells_doublings_and_leaves_looks_without_a_wakeup_empty() {
        assert_eq!(trend(&[0, 10_000, 80_000, 640_000].into()), " ▁▅█");
        assert_eq!(trend(&[5_000, 9_000].into()), "▁▁", "nothing to speak of");
        assert_eq!(trend(&[0, 0].into()), "");
    }
}
