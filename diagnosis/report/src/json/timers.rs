//! Rows of who arms timers, in `tardy.explain/1` and `tardy.top/1`.

use crate::late::LateLine;
use crate::timers::{Counted, TimerUse};
use serde::Serialize;
use tardy_explain::timers::{Counts, TimerRow};

/// One thread's timers of one kind.
#[derive(Debug, Serialize)]
pub struct TimerDocument {
    #[serde(flatten)]
    owner: OwnerDocument,
    #[serde(flatten)]
    counts: TimerCountsDocument,
}

/// The same with what came in the last interval.
#[derive(Debug, Serialize)]
pub struct TimerUseDocument {
    #[serde(flatten)]
    owner: OwnerDocument,
    interval: TimerCountsDocument,
    total: TimerCountsDocument,
}

/// `tardy.top/1`: one look of `tardy top`.
#[derive(Debug, Serialize)]
pub struct TopDocument<'a> {
    /// `tardy.top/1`.
    pub schema: &'static str,
    /// Which look it is, from 1 on.
    pub iteration: u64,
    /// Where the events come from.
    pub source: &'a str,
    /// The interval that [`TimerUseDocument`]'s `interval` is of, in nanoseconds of the events.
    pub interval_ns: u64,
    /// The time since the start.
    pub total_ns: u64,
    /// Events in the interval.
    pub events: u64,
    /// Events lost in the interval, at least.
    pub lost: u64,
    /// What of the recording went otherwise than asked for, a sentence each.
    pub notes: &'a [String],
    /// How late threads are, the most late first.
    pub victims: Vec<LateDocument>,
    /// The rows, most first.
    pub timers: Vec<TimerUseDocument>,
}

impl TopDocument<'_> {
    /// Its schema.
    pub const SCHEMA: &'static str = "tardy.top/1";
}

/// One thread that is late.
#[derive(Debug, Serialize)]
pub struct LateDocument {
    name: String,
    tid: u32,
    process: String,
    interval: LateIntervalDocument,
    wakeups: u64,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
    sum_ns: u64,
    main_cause: Option<&'static str>,
    culprit: String,
}

#[derive(Debug, Serialize)]
struct LateIntervalDocument {
    wakeups: u64,
    per_second: f64,
    max_ns: u64,
    sum_ns: u64,
}

impl From<&LateLine> for LateDocument {
    fn from(line: &LateLine) -> Self {
        let (row, now) = (&line.row, line.row.now);
        let per_second =
            if line.now_ns == 0 { 0.0 } else { now.count as f64 * 1e9 / line.now_ns as f64 };
        Self {
            name: row.label.name.clone(),
            tid: row.task.0,
            process: row.process.to_string(),
            interval: LateIntervalDocument {
                wakeups: now.count,
                per_second,
                max_ns: now.max_ns,
                sum_ns: now.sum_ns,
            },
            wakeups: row.count,
            p50_ns: row.p50_ns,
            p99_ns: row.p99_ns,
            max_ns: row.max_ns,
            sum_ns: row.sum_ns,
            main_cause: row.cause.map(|cause| cause.0),
            culprit: row.culprit.clone(),
        }
    }
}

/// Of the kernel itself the ids are 0; of all rows together that have none of their own, everything is
/// `null`.
#[derive(Debug, Serialize)]
struct OwnerDocument {
    process: Option<String>,
    pid: Option<u32>,
    name: Option<String>,
    tid: Option<u32>,
    call: Option<&'static str>,
    function: String,
}

/// What was counted.
#[derive(Debug, Serialize)]
pub struct TimerCountsDocument {
    armed: u64,
    moved: u64,
    cancelled: u64,
    expired: u64,
    per_second: f64,
    cancelled_share: Option<f64>,
    programmed_share: Option<f64>,
    slack_ns: Option<SlackDocument>,
    inflicted_ns: u64,
}

#[derive(Debug, Serialize)]
struct SlackDocument {
    typical: u32,
    min: u32,
    max: u32,
}

impl TimerDocument {
    /// A row of all time, which was `span_ns`.
    pub fn new(row: &TimerRow, span_ns: u64) -> Self {
        Self { owner: row.into(), counts: TimerCountsDocument::new(&row.counts, span_ns) }
    }
}

impl TimerUseDocument {
    /// A row with what came in the last interval, of `now_ns`, and in all time, `total_ns`.
    pub fn new(one: &TimerUse, now_ns: u64, total_ns: u64) -> Self {
        Self {
            owner: OwnerDocument::from(&one.row),
            interval: TimerCountsDocument::new(&one.now, now_ns),
            total: TimerCountsDocument::new(&one.row.counts, total_ns),
        }
    }
}

impl From<&TimerRow> for OwnerDocument {
    fn from(row: &TimerRow) -> Self {
        let thread = row.thread;
        Self {
            process: thread.map(|thread| thread.process_name.to_string()),
            pid: thread.map(|thread| thread.process().0),
            name: thread.map(|thread| thread.name.to_string()),
            tid: thread.map(|thread| thread.task.0),
            call: row.kind.and_then(tardy_explain::timers::TimerKind::call),
            function: row.function.clone(),
        }
    }
}

impl TimerCountsDocument {
    fn new(counts: &Counts, ns: u64) -> Self {
        let slacks = counts.slacks.typical_ns().zip(counts.slacks.range_ns());
        let over = Counted { ns, ..Counted::default() };
        Self {
            armed: counts.armed,
            moved: counts.moved,
            cancelled: counts.cancelled,
            expired: counts.expired,
            per_second: crate::timers::per_second(counts.armed, &over),
            cancelled_share: counts.cancelled_share(),
            programmed_share: counts.programmed_share(),
            slack_ns: slacks.map(|(typical, (min, max))| SlackDocument { typical, min, max }),
            inflicted_ns: counts.inflicted_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tardy_explain::timers::{TimerKind, TimerThread};
    use tardy_model::TaskId;
    use tardy_model::event::{Call, Comm, TaskInfo};

    #[test]
    fn a_row_says_who_what_and_how_often() {
        let thread = TimerThread {
            task: TaskId(8),
            number: 0,
            name: Comm::new("worker"),
            info: TaskInfo { process: TaskId(7), flags: 0 },
            process_name: Comm::new("program"),
        };
        let row = TimerRow {
            thread: Some(thread),
            kind: Some(TimerKind::Call(Call::Poll)),
            function: "hrtimer_wakeup".to_owned(),
            counts: Counts { armed: 4, cancelled: 1, expired: 1, followed: 4, ..Counts::default() },
        };
        let expected = json!({
            "process": "program", "pid": 7, "name": "worker", "tid": 8,
            "call": "poll", "function": "hrtimer_wakeup",
            "armed": 4, "moved": 0, "cancelled": 1, "expired": 1, "per_second": 2.0,
            "cancelled_share": 0.5, "programmed_share": 0.0,
            "slack_ns": null, "inflicted_ns": 0,
        });
        let document = TimerDocument::new(&row, 2_000_000_000);
        assert_eq!(serde_json::to_value(document).unwrap(), expected);
        let now = Counts { armed: 3, ..Counts::default() };
        let document = TimerUseDocument::new(&TimerUse { row, now }, 1_000_000_000, 2_000_000_000);
        let document = serde_json::to_value(document).unwrap();
        assert_eq!(document["interval"]["per_second"], 3.0);
        assert_eq!(document["total"]["per_second"], 2.0);
        assert_eq!(document["call"], "poll");
    }

    #[test]
    fn the_row_of_all_others_is_nobodys() {
        let document = serde_json::to_value(TimerDocument::new(&TimerRow::default(), 1)).unwrap();
        for key in ["process", "pid", "name", "tid", "call", "cancelled_share"] {
            assert_eq!(document[key], json!(null), "{key}");
        }
    }
}
