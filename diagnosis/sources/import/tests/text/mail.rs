//! A trace in a mail: joined lines, prose and a program around it, quoted and wrapped.

use super::read;
use std::fmt::Write;
use tardy_model::event::TaskState::{self, Interruptible, Running, Uninterruptible};
use tardy_model::event::{Call, Priority, Switch, SyscallEnter, Waking, Woken};
use tardy_model::{CpuId, Event, Kind, Prio, TaskId};

const MAIL: &str = include_str!("../data/futex-pi-spike.txt");

const LOW: TaskId = TaskId(1311);
const HIGH: TaskId = TaskId(1312);
const BUSY: TaskId = TaskId(1313);
const TRACE_CMD: TaskId = TaskId(1308);

fn at(micros: u64, cpu: u16, task: TaskId, kind: impl Into<Kind>) -> Event {
    Event::new((12_165_000_000 + micros) * 1000, CpuId(cpu), task, kind.into())
}

fn switch(
    micros: u64,
    cpu: u16,
    prev: (TaskId, i16),
    state: TaskState,
    next: (TaskId, i16),
) -> Event {
    let switch = Switch {
        prev_state: state,
        prev_prio: Prio(prev.1),
        preempted: false,
        next: next.0,
        next_prio: Prio(next.1),
    };
    at(micros, cpu, prev.0, switch)
}

fn boost(micros: u64, cpu: u16, by: TaskId, old: i16, new: i16) -> Event {
    let released = new > old;
    at(micros, cpu, by, Priority { target: LOW, old: Prio(old), new: Prio(new), released })
}

#[test]
fn every_event_of_the_trace_is_found() {
    let read = read(MAIL);
    assert_eq!(read.format, "ftrace-text");
    assert_eq!(read.origin.cpus, 2);
    // The trace has 38 events; 9 of them, sched_stat_runtime, tell nothing that is asked. Each of two
    // wakeups begins and ends.
    let events = read.of_kinds();
    assert_eq!(events.len(), 38 - 9 + 2, "{events:#?}");

    // What happened, as the mail itself tells it below the trace.
    let (target_cpu, prio) = (CpuId(1), Prio(40));
    let waking = |micros| at(micros, 0, LOW, Waking { target: HIGH, target_cpu, prio });
    let woken = |micros| at(micros, 0, LOW, Woken { target: HIGH, target_cpu, prio });
    let is_call =
        |event: &&Event| matches!(event.kind(), Kind::SyscallEnter(_) | Kind::SyscallExit(_));
    let story: Vec<Event> = events.iter().filter(|event| !is_call(event)).copied().collect();
    let expected = [
        switch(412_243, 0, (LOW, 120), Running, (TRACE_CMD, 120)),
        boost(412_248, 1, HIGH, 120, 40),
        switch(412_266, 1, (HIGH, 40), Interruptible, (BUSY, 41)),
        switch(412_268, 0, (TRACE_CMD, 120), Running, (LOW, 40)),
        waking(412_295),
        woken(412_295),
        boost(412_300, 0, LOW, 40, 120),
        switch(412_301, 1, (BUSY, 41), Running, (HIGH, 40)),
        switch(412_316, 0, (LOW, 120), Running, (TRACE_CMD, 120)),
        boost(412_321, 1, HIGH, 120, 40),
        switch(412_337, 1, (HIGH, 40), Uninterruptible, (BUSY, 41)),
        switch(412_340, 0, (TRACE_CMD, 120), Running, (LOW, 40)),
        waking(412_352),
        woken(412_352),
        boost(412_356, 0, LOW, 40, 120),
        switch(412_356, 1, (BUSY, 41), Running, (HIGH, 40)),
        switch(412_372, 0, (LOW, 120), Running, (TRACE_CMD, 120)),
    ];
    assert_eq!(story, expected);

    // Each call enters and leaves; the table of calls is known by the first futex.
    let futexes: Vec<(u64, TaskId, u16)> = events
        .iter()
        .filter_map(|event| match event.kind() {
            Kind::SyscallEnter(SyscallEnter { call: Call::Futex, op, .. }) => {
                Some((event.time_ns / 1000 - 12_165_000_000, event.task, op))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        futexes,
        [(412_116, LOW, 0x86), (412_229, HIGH, 0x86), (412_280, LOW, 0x87)],
        "lock, lock, unlock"
    );
    for (task, name) in [
        (LOW, "Low-prio******"),
        (HIGH, "High-prio******"),
        (BUSY, "Busy-loop******"),
        (TRACE_CMD, "trace-cmd"),
    ] {
        assert_eq!(read.names_of(task.0), [name]);
    }
    assert!(read.closing.notes.iter().any(|note| note.contains("rounded to 1 µs")));
    assert!(!read.closing.notes.iter().any(|note| note.contains("could not be read")));
}

/// As a mail program does: at spaces, none of which is kept.
fn wrap(text: &str, width: usize, mark: &str) -> String {
    let mut wrapped = String::new();
    for line in text.lines() {
        let mut column = 0;
        wrapped.push_str(mark);
        for word in line.split_whitespace() {
            if column > 0 && column + 1 + word.len() > width {
                write!(wrapped, "\n{mark}").unwrap();
                column = 0;
            }
            if column > 0 {
                wrapped.push(' ');
                column += 1;
            }
            wrapped.push_str(word);
            column += word.len();
        }
        wrapped.push('\n');
    }
    wrapped
}

#[test]
fn wrapped_at_any_width_and_quoted() {
    let expected = read(MAIL).events;
    for (width, mark) in (40..140).zip(["", "> ", ">> > "].into_iter().cycle()) {
        let read = read(wrap(MAIL, width, mark));
        assert_eq!(read.events, expected, "width {width}, marked `{mark}`");
    }
}

#[test]
fn new_dialects_wrapped_at_any_width() {
    let trace = include_str!("../data/trace-tgid.txt");
    // Names that are of two words may be cut before the task's id, where nothing tells.
    let expected = read(trace).of_kinds();
    for width in 60..200 {
        let read = read(wrap(trace, width, "> "));
        assert_eq!(read.of_kinds(), expected, "width {width}: {:?}", read.closing.notes);
    }
}
