//! A thread that is woken again and again, once by a task that runs on.

use super::*;
use crate::{Explainer, Options, Watch};
use tardy_model::event::{Switch, TaskExit, TaskName, TaskState, Waking};
use tardy_model::{Batch, CpuId, Event, Prio};

const VICTIM: TaskId = TaskId(7);
const HOG: TaskId = TaskId(8);

fn at(time_ns: u64, task: TaskId, kind: impl Into<Kind>) -> Event {
    Event::new(time_ns, CpuId(0), task, kind.into())
}

fn name(task: TaskId, name: &str) -> Event {
    at(1, task, TaskName { comm: Comm::new(name) })
}

fn switch(prev_state: TaskState, prev_prio: i16, next: TaskId, next_prio: i16) -> Switch {
    let (prev_prio, next_prio) = (Prio(prev_prio), Prio(next_prio));
    Switch { prev_state, prev_prio, preempted: false, next, next_prio }
}

/// It is woken at a time while the hog runs, and runs after so long.
fn woken(at_ns: u64, late_ns: u64) -> Vec<Event> {
    woken_beside(HOG, HOG, at_ns, late_ns)
}

/// The same beside a thread that runs; another one runs after it.
fn woken_beside(hog: TaskId, next: TaskId, at_ns: u64, late_ns: u64) -> Vec<Event> {
    let waking = Waking { target: VICTIM, target_cpu: CpuId(0), prio: Prio(120) };
    let ran_ns = at_ns + late_ns;
    vec![
        at(at_ns, hog, waking),
        at(ran_ns, hog, switch(TaskState::Running, 10, VICTIM, 120)),
        at(ran_ns + 1_000, VICTIM, switch(TaskState::Interruptible, 120, next, 10)),
    ]
}

#[test]
fn a_number_at_the_end_of_a_name_is_shown_while_all_have_the_same() {
    const OTHER: TaskId = TaskId(9);
    let culprit = |first: &str, second: &str| {
        let mut explainer = explainer();
        let mut events = vec![name(VICTIM, "tick"), name(HOG, first), name(OTHER, second)];
        for number in 1..=4u64 {
            let (hog, next) = if number % 2 == 0 { (OTHER, HOG) } else { (HOG, OTHER) };
            events.extend(woken_beside(hog, next, number * 1_000_000, 20_000));
        }
        events.extend(woken_beside(HOG, OTHER, 3_000_000_000, 20_000));
        explainer.batch(&Batch { events, ..Batch::default() });
        row(&explainer.sink_mut().look()).culprit.clone()
    };
    assert_eq!(culprit("cc1", "cc1"), "cc1");
    assert_eq!(culprit("worker1", "worker2"), "worker*");
}

fn explainer() -> Explainer<LatenessTable> {
    let watch = Watch { all: true, ..Watch::default() };
    Explainer::new(Options { watch, worst: 0 }, LatenessTable::default())
}

fn row(rows: &[LateRow]) -> &LateRow {
    rows.iter().find(|row| row.task == VICTIM).expect("it is there")
}

#[test]
fn rows_tell_how_late_by_what_and_by_whom_and_keep_the_worst_whole() {
    let mut explainer = explainer();
    let mut events = vec![name(VICTIM, "tick"), name(HOG, "hog")];
    for number in 1..=10u64 {
        let late_ns = if number == 8 { 500_000 } else { 20_000 };
        events.extend(woken(number * 1_000_000, late_ns));
    }
    // News of a loss would have come by now.
    events.extend(woken(3_000_000_000, 30_000));
    explainer.batch(&Batch { events, ..Batch::default() });
    let table = explainer.sink_mut();
    let rows = table.look();
    let first = row(&rows);
    assert_eq!((first.count, first.max_ns, first.sum_ns), (10, 500_000, 680_000));
    assert_eq!(first.now, Interval { count: 10, max_ns: 500_000, sum_ns: 680_000 });
    assert!((20_000..21_000).contains(&first.p50_ns), "{}", first.p50_ns);
    assert_eq!((first.cause.unwrap().0, first.culprit.as_str()), ("higher_priority", "hog"));
    assert_eq!(first.label.name, "tick");
    assert_eq!(row(&table.look()).now, Interval::default(), "the interval is a new one");
}

#[test]
fn the_worst_is_whole_once_the_thread_is_known() {
    let mut explainer = explainer();
    let mut events = vec![name(VICTIM, "tick"), name(HOG, "hog")];
    events.extend(woken(1_000_000, 900_000));
    events.extend(woken(2_000_000_000, 20_000));
    events.extend(woken(4_000_000_000, 500_000));
    events.extend(woken(4_100_000_000, 30_000));
    explainer.batch(&Batch { events, ..Batch::default() });
    let table = explainer.sink_mut();
    let worst = table.worst(VICTIM).expect("one is kept");
    assert_eq!(worst.wakeup.lateness_ns, 500_000);
    assert!(!worst.steps.is_empty());
    assert!(table.worst(TaskId(99)).is_none());
}

#[test]
fn who_has_ended_is_seen_once_more() {
    let mut explainer = explainer();
    let mut events = vec![name(VICTIM, "tick"), name(HOG, "hog")];
    events.extend(woken(1_000_000, 20_000));
    events.push(at(2_000_000, VICTIM, TaskExit));
    events.extend(vec![at(
        3_000_000_000,
        HOG,
        switch(TaskState::Interruptible, 10, TaskId(0), 120),
    )]);
    explainer.batch(&Batch { events, ..Batch::default() });
    let table = explainer.sink_mut();
    assert_eq!(row(&table.look()).count, 1);
    assert!(table.look().iter().all(|row| row.task != VICTIM));
}

#[test]
fn threads_that_have_ended_make_room_for_others() {
    let mut explainer = explainer();
    let wakes = |task: u32, at_ns: u64| {
        let task = TaskId(task);
        let waking = Waking { target: task, target_cpu: CpuId(0), prio: Prio(120) };
        vec![
            name(task, "short"),
            at(at_ns, HOG, waking),
            at(at_ns + 500, HOG, switch(TaskState::Running, 10, task, 120)),
            at(at_ns + 600, task, switch(TaskState::Interruptible, 120, HOG, 10)),
        ]
    };
    let mut events = vec![name(HOG, "hog")];
    let first = 100;
    let all = ROWS_MAX as u32 + 500;
    for number in 0..all {
        let at_ns = 1_000_000 + u64::from(number) * 1_000;
        events.extend(wakes(first + number, at_ns));
        events.push(at(at_ns + 700, TaskId(first + number), TaskExit));
    }
    events.extend(wakes(7, 2_000_000_000));
    events.extend(wakes(7, 4_000_000_000));
    explainer.batch(&Batch { events, ..Batch::default() });
    let table = explainer.sink_mut();
    assert_eq!(row(&table.look()).count, 1, "who lives has a row");
    assert!(table.left_out() >= 500, "of those that had ended by then");
    let stays = |row: &LateRow| [VICTIM, HOG].contains(&row.task);
    assert!(table.look().iter().all(stays), "all others are gone");
}
