//! What real programs wrote.

use super::{Read, read, without_expiry};
use tardy_model::{Event, Kind, TaskId};

macro_rules! data {
    ($name:literal) => {
        include_str!(concat!("../data/", $name))
    };
}

/// Kinds with their places; of times as much as microseconds show.
fn at_micros(read: &Read, to_micros: impl Fn(u64) -> u64) -> Vec<(u64, u16, TaskId, Kind)> {
    let told = |event: &Event| {
        (to_micros(event.time_ns), event.cpu.0, event.task, without_expiry(event).kind())
    };
    read.of_kinds().iter().map(told).collect()
}

#[test]
fn what_trace_cmd_reports_of_one_trace_in_three_ways() {
    let plain = read(data!("trace-cmd-report.txt"));
    assert_eq!(plain.origin.written_by, "trace-cmd report");
    assert_eq!(plain.origin.cpus, 2);
    // 54 lines, of which sched_stat_runtime (7), hrtimer_setup (2) and timer_init (1) tell nothing.
    assert_eq!(plain.of_kinds().len(), 54 - 7 - 2 - 1);
    assert!(plain.closing.notes.iter().any(|note| note.contains("rounded to 1 µs")));

    let latency = read(data!("trace-cmd-report-l.txt"));
    assert_eq!(latency.of_kinds(), plain.of_kinds());
    let exact = read(data!("trace-cmd-report-t.txt"));
    assert_eq!(
        at_micros(&exact, |time_ns| (time_ns + 500) / 1000),
        at_micros(&plain, |time_ns| time_ns / 1000)
    );
    assert!(exact.closing.notes.iter().any(|note| note.contains("exact to 1 ns")));

    // The victim's timer expires, and it returns from its call.
    let names: Vec<&str> = exact
        .events
        .iter()
        .filter_map(|event| match event.kind() {
            Kind::ExpireBegin(begin) => Some(exact.tables.function(begin.timer)),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["tick_nohz_handler", "hrtimer_wakeup"]);
    assert_eq!(exact.names_of(10304), ["cyclictest"]);
}

#[test]
fn the_kernels_own_text_with_processes_and_latency_columns() {
    let read = read(data!("trace-tgid.txt"));
    assert_eq!(read.format, "ftrace-text");
    assert_eq!((read.origin.written_by.as_str(), read.origin.cpus), ("ftrace", 2));
    let lines = data!("trace-tgid.txt").lines().filter(|line| !line.starts_with('#'));
    let silent = ["sched_stat_runtime:", "hrtimer_setup:", "timer_init:", "sched_process_free:"];
    let told = lines.filter(|line| !silent.iter().any(|event| line.contains(event)));
    assert_eq!(read.of_kinds().len(), told.count());
    assert_eq!(read.names_of(30254), ["memfd:sealed-91"]);
    assert_eq!(read.names_of(10337), ["opt cgu.1"]);
    assert!(
        !read
            .closing
            .notes
            .iter()
            .any(|note| note.contains("left out") || note.contains("passed over"))
    );
}

#[test]
fn what_perf_prints_of_one_trace_in_two_ways() {
    let (exact, cut) = (read(data!("perf-script-ns.txt")), read(data!("perf-script.txt")));
    assert_eq!((exact.format, cut.format), ("perf-script", "perf-script"));
    assert_eq!(
        at_micros(&exact, |time_ns| time_ns / 1000),
        at_micros(&cut, |time_ns| time_ns / 1000)
    );
    let silent = ["sched_stat_runtime:", "hrtimer_setup:"];
    let lines = data!("perf-script.txt").lines();
    let told = lines.filter(|line| !silent.iter().any(|event| line.contains(event)));
    assert_eq!(cut.of_kinds().len(), told.count());
    assert!(cut.closing.notes.iter().any(|note| note.contains("perf script --ns")));
}

#[test]
fn call_chains_between_perfs_events() {
    let chain = "\n\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])\n\
                 \t          146f7c [unknown] (/usr/bin/perf)\n\n";
    let with_chains = data!("perf-script-ns.txt").replace('\n', chain);
    let (plain, chains) = (read(data!("perf-script-ns.txt")), read(with_chains));
    assert_eq!(plain.events, chains.events);
    assert_eq!(plain.closing, chains.closing);
}
