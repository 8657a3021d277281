use super::*;
use tardy_explain::timers::{TimerKind, TimerThread};
use tardy_model::event::{Call, Comm, TaskInfo};

fn one(task: u32, process: u32, name: &str, kind: TimerKind, now: u64, total: u64) -> TimerUse {
    let thread = TimerThread {
        task: TaskId(task),
        number: 0,
        name: Comm::new(name),
        info: TaskInfo { process: TaskId(process), flags: 0 },
        process_name: Comm::new("program"),
    };
    let counts = |armed| Counts {
        armed,
        cancelled: armed / 4,
        expired: armed - armed / 4,
        followed: armed,
        programmed: armed / 2,
        inflicted_ns: armed * 10,
        ..Counts::default()
    };
    TimerUse {
        row: TimerRow {
            thread: Some(thread),
            kind: Some(kind),
            function: "hrtimer_wakeup".to_owned(),
            counts: counts(total),
        },
        now: counts(now),
    }
}

fn uses() -> Vec<TimerUse> {
    let sleep = TimerKind::Call(Call::ClockNanosleep);
    let others = Counts { armed: 3, ..Counts::default() };
    vec![
        one(101, 100, "\u{1b}[2Jone", sleep, 1_000, 9_000),
        one(102, 100, "two", TimerKind::Call(Call::Futex), 3_000, 4_000),
        one(200, 200, "alone", TimerKind::Sleep, 2_000, 2_000),
        one(0, 0, "", TimerKind::Function, 400, 800),
        TimerUse {
            row: TimerRow { counts: others, ..TimerRow::default() },
            now: Counts::default(),
        },
    ]
}

fn shown(grouping: TimerGrouping, sort: TimerSort, max: usize, width: usize) -> String {
    const COLUMNS: [TimerColumn; 9] = [
        TimerColumn::Name,
        TimerColumn::Id,
        TimerColumn::Armed,
        TimerColumn::Expired,
        TimerColumn::CancelledShare,
        TimerColumn::ProgrammedShare,
        TimerColumn::ArmedTotal,
        TimerColumn::CostTotal,
        TimerColumn::What,
    ];
    let lines = timer_lines(&uses(), 2_000_000_000, 10_000_000_000, grouping, sort);
    let mut out = Vec::new();
    let terminal = Terminal { width, ..Terminal::default() };
    timer_table(&lines, &COLUMNS, max, terminal, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn threads_by_cost() {
    insta::assert_snapshot!(shown(TimerGrouping::Threads, TimerSort::Cost, 10, 100));
}

#[test]
fn programs_by_name() {
    insta::assert_snapshot!(shown(TimerGrouping::Programs, TimerSort::Name, 10, 100));
}

#[test]
fn a_tree_that_is_cut_counts_each_row_once() {
    insta::assert_snapshot!(shown(TimerGrouping::Tree, TimerSort::Armed, 2, 60));
}

#[test]
fn a_quiet_interval_keeps_the_order_of_all_time() {
    let mut uses = uses();
    for one in &mut uses {
        one.now = Counts::default();
    }
    let lines = timer_lines(&uses, 1, 10, TimerGrouping::Threads, TimerSort::Cost);
    let ids: Vec<_> = lines.iter().map(|line| line.id).collect();
    assert_eq!(ids, [Some(101), Some(102), Some(200), None, None]);
    assert_eq!(lines[4].name, "all others");
}
