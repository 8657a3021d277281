//! Does a flight recorder catch who is late, with who made it so, and keep quiet where nobody is?

use crate::explained::explain_all;
use crate::machine::Machine;
use crate::program::{Running, Said, manifest, tardy};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thread_priority::unix::{
    RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};
use thread_priority::{ThreadPriority, ThreadPriorityValue};

const CULPRIT: &str = "hog-90";
/// How long the culprit keeps the CPU: well over what a busy virtual machine does by itself.
const BUSY: Duration = Duration::from_millis(40);
/// The bound: what the culprit takes exceeds it, whatever else happens.
const OVER: &str = "20ms";
/// A bound on what a broken test can do to the machine.
const ROUNDS_MAX: usize = 200;

/// Keeps `cpu` under `SCHED_FIFO` 90, again and again, until `stop`.
fn hog(cpu: usize, stop: &AtomicBool) {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).expect("the CPU is ours");
    let prio = ThreadPriority::Crossplatform(ThreadPriorityValue::try_from(90).unwrap());
    let fifo = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), prio, fifo).expect("root may");
    for _ in 0..ROUNDS_MAX {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        std::thread::sleep(BUSY * 3);
        let begun = Instant::now();
        while begun.elapsed() < BUSY {}
    }
}

fn record(recording: &Path, over: &str, seconds: &str, victim: u32) -> Said {
    let mut command = tardy(["record", "--flight", "--json", "--over", over, "-D", seconds]);
    command.args(["-p", &victim.to_string(), "-o"]).arg(recording);
    Said::by(&mut command)
}

/// A thread that sleeps for a millisecond again and again, on one CPU.
fn victim(cpu: usize) -> Running {
    let arguments = ["measure", "cyclic", "--json", "-t", "1", "-p", "50", "-i", "1ms", "-D", "60"];
    let mut command = tardy(arguments);
    command.args(["-a", &cpu.to_string()]);
    Running::start(&mut command)
}

fn last_cpu() -> usize {
    let cpus = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).rfind(|cpu| cpus.is_set(*cpu)).expect("we run somewhere")
}

fn notes(recording: &Path) -> String {
    manifest(recording)["notes"].to_string()
}

#[test]
fn who_is_late_is_caught_with_its_culprit() {
    let Some(_machine) = Machine::that_records() else { return };
    let (cpu, stop) = (last_cpu(), AtomicBool::new(false));
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let victim = victim(cpu);
    let said = std::thread::scope(|scope| {
        let hog = || hog(cpu, &stop);
        std::thread::Builder::new().name(CULPRIT.to_owned()).spawn_scoped(scope, hog).unwrap();
        let said = record(&recording, OVER, "30s", victim.pid());
        stop.store(true, Ordering::Relaxed);
        said
    });
    victim.kill();
    if said.err.contains("--flight needs eBPF") {
        eprintln!("skipped: {}", said.err);
        return;
    }
    let document = said.expect(3).json();
    let late_ns = document["exceeded"]["late_ns"].as_u64().expect("somebody was late");
    assert!(late_ns > 20_000_000, "{document:#}");
    assert!(notes(&recording).contains("was exceeded"), "{}", notes(&recording));

    let explained = explain_all(&recording, &[]);
    let due_ns = document["exceeded"]["due_ns"].as_u64().unwrap();
    let caught = explained.wakeups.iter().find(|wakeup| wakeup.expiry_ns == due_ns);
    let caught = caught.unwrap_or_else(|| panic!("not explained: {document:#}"));
    assert_eq!(caught.lateness_ns, late_ns);
    let waits = caught.segments.iter().filter(|segment| segment.cause == "higher_priority");
    let culprits = waits.flat_map(|segment| &segment.culprits);
    let blamed_ns: u64 =
        culprits.filter(|culprit| culprit.name == CULPRIT).map(|culprit| culprit.ns).sum();
    assert!(blamed_ns > late_ns / 2, "{blamed_ns} of {late_ns}: {caught:?}");
}

#[test]
fn where_nobody_is_late_it_says_so() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let victim = victim(last_cpu());
    let said = record(&recording, "10s", "2s", victim.pid());
    victim.kill();
    if said.err.contains("--flight needs eBPF") {
        eprintln!("skipped: {}", said.err);
        return;
    }
    let document = said.expect(0).json();
    assert!(document["exceeded"].is_null(), "{document:#}");
    assert!(document["events"].as_u64().unwrap() > 1000, "what the buffers held is kept");
    assert!(notes(&recording).contains("was not exceeded"), "{}", notes(&recording));
    assert!(explain_all(&recording, &[]).timed().count() > 100);
}

#[test]
fn what_cannot_fly_says_so() {
    let mut command = tardy(["record", "--flight", "--over", "1ms", "--source", "tracefs"]);
    let folder = tempfile::tempdir().unwrap();
    command.arg("-o").arg(folder.path().join("recording"));
    let said = Said::by(&mut command).expect(1);
    assert!(said.err.contains("--flight needs eBPF"), "{}", said.err);
    Said::by(&mut tardy(["record", "--flight"])).expect(2);
}
