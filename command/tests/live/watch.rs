//! Does a watch catch who is late, with who made it so, keep the worst, and go on after a restart?

use crate::explained::explain_all;
use crate::locks::contenders;
use crate::machine::Machine;
use crate::no_root::Stranger;
use crate::program::{Running, Said, manifest, tardy};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
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

fn watch(folder: &Path, over: &str, seconds: &str, victim: u32) -> Command {
    let mut command = tardy(["watch", "--json", "--over", over, "-D", seconds]);
    command.args(["-p", &victim.to_string(), "-o"]).arg(folder);
    command
}

/// Whether it is for want of eBPF that it did not watch.
fn is_skipped(said: &Said) -> bool {
    let skipped = said.err.contains("cannot watch");
    if skipped {
        eprintln!("skipped: {}", said.err);
    }
    skipped
}

/// A thread that sleeps for a millisecond again and again, on one CPU.
fn victim(cpu: usize) -> Running {
    let arguments = ["measure", "cyclic", "--json", "-t", "1", "-P", "50", "-i", "1ms", "-D", "60"];
    let mut command = tardy(arguments);
    command.args(["-a", &cpu.to_string()]);
    Running::start(&mut command)
}

fn last_cpu() -> usize {
    let cpus = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).rfind(|cpu| cpus.is_set(*cpu)).expect("we run somewhere")
}

/// Keeps a CPU busy while `act` goes on.
fn beside_a_hog<T>(cpu: usize, act: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let hog = || hog(cpu, &stop);
        std::thread::Builder::new().name(CULPRIT.to_owned()).spawn_scoped(scope, hog).unwrap();
        let done = act();
        stop.store(true, Ordering::Relaxed);
        done
    })
}

#[test]
fn who_is_late_is_kept_with_its_culprit_and_explained_first() {
    let Some(_machine) = Machine::that_records() else { return };
    let cpu = last_cpu();
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("night");
    let told = home.path().join("told");
    let victim = victim(cpu);
    let mut command = watch(&folder, OVER, "30s", victim.pid());
    command.args(["--exit-after", "2", "--exec"]);
    command.arg(format!("echo \"$TARDY_RECORDING $TARDY_TID\" >> {}", told.display()));
    let said = beside_a_hog(cpu, || Said::by(&mut command));
    victim.kill();
    if is_skipped(&said) {
        return;
    }
    let document = said.expect(3).json();
    assert_eq!((&document["schema"], &document["late"]), (&json!("tardy.watch/1"), &json!(2)));
    let own = std::env::current_exe().unwrap();
    let own = own.file_name().unwrap().to_str().unwrap();
    let told = std::fs::read_to_string(&told).unwrap();
    assert!(told.starts_with(folder.join("late-1").to_str().unwrap()), "{told}");
    for kept in document["kept"].as_array().unwrap() {
        let recording = folder.join(kept["recording"].as_str().unwrap());
        let lateness_ns = kept["lateness_ns"].as_u64().unwrap();
        assert!(lateness_ns > 20_000_000, "{kept:#}");
        assert_eq!(manifest(&recording)["trigger"]["lateness_ns"], kept["lateness_ns"]);
        let explained = explain_all(&recording, &[]);
        assert_eq!(explained.lost, 0, "it begins where all CPUs' events are there");
        let expiry_ns = kept["expiry_ns"].as_u64().unwrap();
        let caught = explained.wakeups.iter().find(|wakeup| wakeup.expiry_ns == expiry_ns);
        let caught = caught.unwrap_or_else(|| panic!("not explained: {kept:#}"));
        assert_eq!(caught.lateness_ns, lateness_ns);
        let waits = caught.segments.iter().filter(|segment| segment.cause == "higher_priority");
        let culprits = waits.flat_map(|segment| &segment.culprits);
        // A loaded machine may keep what happened from after the thread took its name: then it has the program's.
        let is_ours = |name: &str| name == CULPRIT || own.starts_with(name);
        let blamed_ns: u64 =
            culprits.filter(|culprit| is_ours(&culprit.name)).map(|culprit| culprit.ns).sum();
        assert!(blamed_ns > lateness_ns / 2, "{blamed_ns} of {lateness_ns}: {caught:?}");
    }
    // Of the folder, the worst.
    let text = Said::by(tardy(["explain", "--no-write"]).arg(&folder)).expect(0);
    assert!(text.err.contains("the worst of 2"), "{}", text.err);
    assert!(text.out.contains("Kept for cyclic-0"), "{}", text.out);
    let list = Said::by(tardy(["list"]).arg(&folder)).expect(0).out;
    assert_eq!(list.matches("late-").count(), 2, "{list}");
    assert!(list.contains("cyclic-0") && list.contains("higher_priority"), "{list}");
    Said::by(tardy(["report"]).arg(&folder)).expect(0);
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("2 late wakeups kept") && folder.join("late-1/report.html").is_file());
}

/// Files may not grow, as on a full disk: nothing can be kept, and the night goes on.
#[test]
fn a_full_disk_ends_no_watch() {
    let Some(_machine) = Machine::that_records() else { return };
    let cpu = last_cpu();
    let home = tempfile::tempdir().unwrap();
    let victim = victim(cpu);
    let watch = watch(home.path(), OVER, "30s", victim.pid());
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 16; exec \"$0\" \"$@\""]).arg(watch.get_program());
    command.args(watch.get_args()).args(["--exit-after", "3"]);
    let said = beside_a_hog(cpu, || Said::by(&mut command));
    victim.kill();
    if is_skipped(&said) {
        return;
    }
    let said = said.expect(1);
    assert_eq!(said.err.matches("the watch goes on").count(), 1, "{}", said.err);
    assert!(said.err.contains("3 late wakeups could not be kept"), "{}", said.err);
    let document = said.json();
    assert_eq!((&document["late"], &document["kept"]), (&json!(3), &json!([])));
    assert!(!home.path().join(".unfinished").exists(), "it takes no room");
}

#[test]
fn where_nobody_is_late_it_says_so() {
    let Some(_machine) = Machine::that_records() else { return };
    let home = tempfile::tempdir().unwrap();
    let victim = victim(last_cpu());
    let said = Said::by(&mut watch(home.path(), "10s", "2s", victim.pid()));
    victim.kill();
    if is_skipped(&said) {
        return;
    }
    let document = said.expect(0).json();
    assert_eq!(document["kept"], json!([]));
    let said = Said::by(tardy(["explain"]).arg(home.path())).expect(1);
    assert!(said.err.contains("no thread was late yet"), "{}", said.err);
}

/// A holder of a lock that is lent a priority now and then stays an ordinary thread, which nobody asked to watch.
#[test]
fn who_was_only_lent_a_priority_is_not_watched() {
    let Some(_machine) = Machine::that_records() else { return };
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("night");
    let contend =
        Running::start(Command::new(contenders(home.path())).args(["1000000", "sleep-on"]));
    let mut command = tardy(["watch", "--json", "--over", "1us", "-D", "10s", "--keep", "1000"]);
    let said = Said::by(command.arg("-o").arg(&folder));
    contend.kill();
    if is_skipped(&said) {
        return;
    }
    let document = said.expect(3).json();
    let late =
        document["kept"].as_array().unwrap().iter().map(|kept| kept["name"].as_str().unwrap());
    let names: BTreeSet<_> = late.collect();
    assert!(names.contains("pi-high") && !names.contains("pi-low"), "{names:?}");
}

/// Killed in the middle of the night and started anew with the same folder.
#[test]
fn a_restart_goes_on_and_the_least_make_room() {
    let Some(_machine) = Machine::that_records() else { return };
    let cpu = last_cpu();
    let home = tempfile::tempdir().unwrap();
    let victim = victim(cpu);
    let keep = |command: &mut Command| Running::start(command.args(["--keep", "2"]));
    let said = beside_a_hog(cpu, || {
        let mut first = keep(&mut watch(home.path(), OVER, "30s", victim.pid()));
        let begun = Instant::now();
        while !home.path().join("late-1").exists() && begun.elapsed() < Duration::from_secs(20) {
            if first.has_ended().is_some() {
                return first.said();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        first.kill();
        let mut again = watch(home.path(), OVER, "30s", victim.pid());
        keep(again.args(["--exit-after", "2"])).said()
    });
    victim.kill();
    if is_skipped(&said) {
        return;
    }
    let document = said.expect(3).json();
    assert_eq!(document["runs"], 2);
    let kept = document["kept"].as_array().unwrap();
    assert_eq!(kept.len(), 2, "{document:#}");
    assert!(kept[0]["lateness_ns"].as_u64() >= kept[1]["lateness_ns"].as_u64());
    assert!(document["numbered"].as_u64().unwrap() >= 2);
    let folders = std::fs::read_dir(home.path()).unwrap().flatten();
    let recordings = folders.filter(|it| it.file_name().to_string_lossy().starts_with("late-"));
    assert_eq!(recordings.count(), 2, "the disk is bounded");
}

#[test]
fn what_cannot_watch_says_so_and_the_old_name_leads_here() {
    let said = Said::by(&mut tardy(["record", "--flight", "--over", "1ms"])).expect(2);
    assert!(said.err.contains("tardy watch --over 1ms"), "{}", said.err);
    Said::by(&mut tardy(["watch"])).expect(2);
    let _machine = Machine::alone();
    let said = Said::by(&mut Stranger::new().tardy(&["watch", "--over", "1ms"])).expect(1);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    assert!(said.err.contains("cannot watch") && said.err.contains("CAP_BPF"), "{}", said.err);
}
