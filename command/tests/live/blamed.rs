//! Is any task blamed for more time than the kernel says that it ran?

use crate::explained::explain_all;
use crate::machine::Machine;
use crate::program::{Running, tardy};
use rustix::thread::{CpuSet, sched_getaffinity};
use std::collections::HashMap;
use std::time::Duration;

/// What the kernel does not count as a task's although no event tells of it: interrupts' ways in and out, in parts
/// of the time that the task ran; and the readings of two clocks at each end.
const UNCOUNTED_SHARE: f64 = 0.02;
const UNCOUNTED_NS: u64 = 50_000;

/// The kernel brings a running task's time up to date with each tick.
const UP_TO_DATE: Duration = Duration::from_millis(100);

/// Fewer tasks than this were no load.
const BLAMED_MIN: usize = 5;

/// How long each thread of the system has run, in nanoseconds, by its number.
fn ran() -> HashMap<u32, u64> {
    let names = |path: &str| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
    };
    let threads = names("/proc").flat_map(|process| {
        let path = format!("/proc/{process}/task");
        names(&path).map(|thread| (thread, format!("{path}/{thread}"))).collect::<Vec<_>>()
    });
    // Who ends meanwhile has no file.
    let ran = threads.filter_map(|(thread, path)| {
        let schedstat = std::fs::read_to_string(format!("{path}/schedstat")).ok()?;
        Some((thread, schedstat.split_whitespace().next()?.parse().ok()?))
    });
    ran.collect()
}

/// An ordinary victim among ordinary threads waits for all of them. What a task is blamed for in wakeups that do not
/// overlap was at different times.
#[test]
fn no_task_is_blamed_for_more_than_it_ran() {
    let Some(_machine) = Machine::that_records() else { return };
    let cpus = sched_getaffinity(None).unwrap();
    let cpu = (0..CpuSet::MAX_CPU).rfind(|cpu| cpus.is_set(*cpu)).expect("we run somewhere");
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    // They are there before and after, so that their time can be read.
    let load = Running::start(&mut tardy(["load", "cpu:4+storm:20+hackbench", "-D", "60s"]));
    std::thread::sleep(Duration::from_secs(2));

    let before = ran();
    let mut measure = tardy(["measure", "cyclic", "--json", "-t1", "--policy", "other", "-i1ms"]);
    measure.args(["-D5s", "-a", &cpu.to_string(), "--record"]).arg(&recording);
    Running::start(&mut measure).said().expect(0);
    std::thread::sleep(UP_TO_DATE);
    let after = ran();
    load.interrupt();

    let explained = explain_all(&recording, &[]);
    let mut blamed: HashMap<u32, u64> = HashMap::new();
    let mut wakeups: Vec<_> = explained.timed().collect();
    wakeups.sort_by_key(|wakeup| wakeup.expiry_ns);
    let mut until_ns = 0;
    wakeups.retain(|wakeup| {
        let is_after = wakeup.expiry_ns >= until_ns;
        until_ns = until_ns.max(wakeup.end_ns());
        is_after
    });
    let segments = wakeups.iter().flat_map(|wakeup| &wakeup.segments);
    for culprit in segments.flat_map(|segment| &segment.culprits) {
        if let (Some(pid), "task" | "kernel_task" | "tardy") = (culprit.pid, culprit.kind.as_str())
        {
            *blamed.entry(pid).or_default() += culprit.ns;
        }
    }
    // Whoever ended, the victim among them, has told nobody how long it ran.
    let known = blamed.iter().filter_map(|(pid, ns)| {
        let ran_ns = after.get(pid)? - before.get(pid).copied().unwrap_or(0);
        Some((pid, *ns, ran_ns))
    });
    let known: Vec<_> = known.collect();
    for (pid, blamed_ns, ran_ns) in &known {
        let most_ns = ran_ns + (*ran_ns as f64 * UNCOUNTED_SHARE) as u64 + UNCOUNTED_NS;
        assert!(*blamed_ns <= most_ns, "{pid} is blamed for {blamed_ns} ns, and ran {ran_ns} ns");
    }
    let (all_ns, ran_ns) = known.iter().fold((0, 0), |sum, it| (sum.0 + it.1, sum.1 + it.2));
    eprintln!("{} tasks are blamed for {all_ns} ns, and ran {ran_ns} ns", known.len());
    assert!(known.len() >= BLAMED_MIN, "{} of {} tasks are known", known.len(), blamed.len());
}
