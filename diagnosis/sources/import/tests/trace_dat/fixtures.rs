//! Recordings in `data/`, whose scripts say how they were made.

use crate::reading::{Whole, assert_counts, data, read};
use std::collections::BTreeMap;
use tardy_model::event::Call;
use tardy_model::{Kind, TaskId, TimerId};

pub(crate) const FIXTURES: [&str; 4] =
    ["v6-mono", "v7-zstd-local", "armv7-v6-mono", "armv7-v7-zstd-local"];

fn fixture(name: &str) -> Whole {
    read(&data(&format!("{name}.dat"))).unwrap()
}

/// `seconds.nanoseconds`.
fn ns(text: &str) -> u64 {
    text.replace('.', "").parse().unwrap()
}

#[test]
fn as_many_events_at_the_same_times_as_trace_cmd_reports() {
    for name in FIXTURES {
        let whole = fixture(name);
        let text = std::fs::read_to_string(data(&format!("{name}.counts"))).unwrap();
        let lines = text.lines().map(|line| line.split_once(' ').unwrap());
        let (times, counts): (Vec<_>, Vec<_>) =
            lines.partition(|(key, _)| matches!(*key, "first" | "last"));
        let counts: BTreeMap<String, u64> = counts
            .into_iter()
            .map(|(key, count)| (key.to_owned(), count.parse().unwrap()))
            .collect();
        assert_counts(&whole, &counts);
        let switches = || {
            let is_switch = |kind: Kind| matches!(kind, Kind::Switch(_));
            whole.events.iter().filter(move |event| is_switch(event.kind()))
        };
        let ours = [switches().next(), switches().next_back()].map(|it| it.unwrap().time_ns);
        assert_eq!(ours.to_vec(), times.iter().map(|(_, at)| ns(at)).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn the_file_tells_where_it_comes_from() {
    for (name, machine, clock, cpus) in [
        ("v6-mono", "x86_64", "mono", 2),
        ("v7-zstd-local", "x86_64", "local", 2),
        ("armv7-v6-mono", "armv7l", "mono", 1),
        ("armv7-v7-zstd-local", "armv7l", "local", 1),
    ] {
        let Whole { origin, closing, .. } = fixture(name);
        assert_eq!((origin.machine.as_str(), origin.clock.as_str()), (machine, clock), "{name}");
        assert_eq!(origin.cpus, cpus);
        assert!(origin.written_by.starts_with("trace-cmd 3."), "{origin:?}");
        assert!(origin.kernel_release.starts_with("6."), "{origin:?}");
        let moved = closing.notes.iter().filter(|note| note.contains("converted")).count();
        let silent = closing.notes.iter().filter(|note| note.contains("nothing here")).count();
        assert_eq!(
            (closing.notes.len(), moved, silent),
            (moved + silent, usize::from(clock == "local"), usize::from(closing.silent > 0)),
            "{closing:?}"
        );
        let missing = closing.missing.iter().any(|missing| missing.contains("sched_switch"));
        assert!(!missing, "{closing:?}");
    }
}

#[test]
fn names_and_functions_are_known() {
    let whole = fixture("v6-mono");
    let name = |task| {
        whole.events.iter().find_map(|event| match event.kind() {
            Kind::TaskName(name) if event.task == TaskId(task) => Some(name.comm.to_string()),
            _ => None,
        })
    };
    // From the list that the file has beside the events.
    assert_eq!(name(2).as_deref(), Some("kthreadd"));
    assert_eq!(name(4_194_303).as_deref(), Some("long gone"));
    let functions = || {
        (1..).map_while(|id| match whole.tables.function(TimerId(id)) {
            "" => None,
            function => Some(function),
        })
    };
    assert!(functions().any(|function| function == "hrtimer_wakeup"));
    assert!(functions().any(|function| function == "tick_nohz_handler"));
}

/// cyclictest sleeps 1 ms at a time and says how late it was woken, at least and at most: the trace
/// must tell the same of every expiry, whichever its clock.
#[test]
fn lateness_of_cyclictest_on_armv7_is_what_it_says_itself() {
    let said = std::fs::read_to_string(data("armv7.txt")).unwrap();
    let line = said.lines().find(|line| line.starts_with("T: 0")).unwrap();
    let number = |key: &str| {
        let rest = line.split_once(key).unwrap().1.trim_start();
        let word = rest.split_whitespace().next().unwrap();
        word.trim_end_matches(')').parse::<u64>().unwrap()
    };
    let (cycles, min_us, max_us) = (number("C:"), number("Min:"), number("Max:"));
    let thread = TaskId(number("(") as u32);

    let whole = fixture("armv7-v7-zstd-local");
    let mut sleeps = 0;
    let mut begun = None;
    let mut late_us = Vec::new();
    let mut callbacks_us = Vec::new();
    for event in &whole.events {
        match event.kind() {
            Kind::TimerArm(arm) if event.task == thread && arm.call == Call::ClockNanosleep => {
                sleeps += 1;
                begun = Some((arm.timer, event.task));
            }
            Kind::ExpireBegin(expiry) if begun.is_some_and(|(timer, _)| timer == expiry.timer) => {
                callbacks_us.push((event.time_ns - expiry.soft_ns) / 1000);
                begun = begun.map(|(_, task)| (TimerId::UNKNOWN, task));
                late_us.push(expiry.soft_ns);
            }
            Kind::SyscallExit(_) if begun.is_some_and(|(_, task)| task == event.task) => {
                if let Some(soft_ns) = late_us.last_mut() {
                    *soft_ns = (event.time_ns - *soft_ns) / 1000;
                }
                begun = None;
            }
            _ => {}
        }
    }
    assert!(sleeps >= cycles, "{sleeps} sleeps in {cycles} cycles");
    assert!(late_us.len() as u64 >= cycles, "{} expiries", late_us.len());
    // The callback begins well before the thread has its time; returning takes the rest.
    assert!(callbacks_us.iter().all(|us| *us < max_us), "{callbacks_us:?}");
    let (least, most) = (late_us.iter().min().unwrap(), late_us.iter().max().unwrap());
    assert!(*least + 8 >= min_us && *least <= min_us, "{least} of {min_us}");
    assert!(*most + 8 >= max_us && *most <= max_us, "{most} of {max_us}");
}
