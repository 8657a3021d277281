//! CPUs that are taken away, given back, or only possible; and a machine that sleeps meanwhile.

use super::guests::{alone, balanced, fetched, tardy};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::MutexGuard;

/// How much of all lateness may be nobody's.
const UNEXPLAINED_MAX: f64 = 0.01;

const SOURCES: [&str; 2] = ["ebpf", "tracefs"];

/// A guest of one of the kernels that ran a script, and what it left.
pub(super) struct Left {
    folder: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Left {
    /// None, with the reason said, where guests are not asked for or nothing can be had.
    pub(super) fn by(kernels: &[&str], flags: &[&str], script: &str) -> Option<Self> {
        let alone = alone();
        if std::env::var_os("TARDY_TEST_VM").is_none() {
            eprintln!("skipped: guests are booted with TARDY_TEST_VM=1 only");
            return None;
        }
        let kernel = match kernel(kernels) {
            Ok(kernel) => kernel,
            Err(why) => {
                eprintln!("skipped: {why}");
                return None;
            }
        };
        let folder = tempfile::tempdir().expect("a folder");
        let mut run =
            tardy(&["vm", "run", "--no-record", "--with", "busybox", "--kernel", &kernel]);
        run.args(flags).arg("-o").arg(folder.path().join("out")).args(["--", "sh", "-ec", script]);
        let output = run.output().expect("the command starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        Some(Self { folder, _alone: alone })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("out").join(name)
    }

    pub(super) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("the guest wrote it")
    }
}

/// The first that is there, or can be had.
fn kernel(kernels: &[&str]) -> Result<String, String> {
    let listed = tardy(&["vm", "list", "--json"]).output().map_err(|error| error.to_string())?;
    let list: Value = serde_json::from_slice(&listed.stdout).map_err(|error| error.to_string())?;
    fetched("tools-x86_64")?;
    let all = list["kernels"].as_array().into_iter().flatten();
    let there = |kernel: &&Value| {
        kernel["state"] == "there" && kernels.contains(&kernel["name"].as_str().unwrap_or_default())
    };
    if let Some(kernel) = all.clone().find(there) {
        return Ok(kernel["name"].as_str().unwrap_or_default().to_owned());
    }
    let usual = kernels.last().expect("one at least");
    fetched(usual).map(|()| (*usual).to_owned())
}

/// Every wakeup of a recording.
fn explained(recording: &Path, more: &[&str]) -> Value {
    let mut explain = tardy(&["explain", "--worst", "all", "--json", "--quiet"]);
    let explained = explain.args(more).arg(recording).output().expect("the command starts");
    serde_json::from_slice(&explained.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&explained.stderr)))
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// QEMU has several CPUs with kernels alone that were compiled here.
#[test]
fn a_cpu_is_taken_away_and_given_back_in_a_recording() {
    let script = "
        for it in ebpf tracefs; do
            tardy record --quiet --source $it -o $it -- sh -ec '
                tardy load storm:8 & load=$!
                sleep 1
                now() { cut -d\" \" -f1 /proc/uptime >> times; }
                now; echo 0 > /sys/devices/system/cpu/cpu1/online; now
                sleep 1
                now; echo 1 > /sys/devices/system/cpu/cpu1/online; now
                sleep 1
                kill $load; wait $load || true'
            mv times times.$it
        done";
    let Some(left) = Left::by(&["small", "policies"], &["--cpus", "2"], script) else { return };
    for source in SOURCES {
        let times = left.text(&format!("times.{source}"));
        let times: Vec<u64> =
            times.lines().map(|line| (line.parse::<f64>().expect("s") * 1e9) as u64).collect();
        let explained = explained(&left.path(source), &["--all"]);
        assert_eq!(explained["lost"], 0);
        let (all, share) = balanced(&explained);
        assert!(all > 0 && share <= UNEXPLAINED_MAX, "{source}: {share}");
        let on_it = |from_ns: u64, to_ns: u64| {
            let wakeups = explained["wakeups"].as_array().expect("a list").iter();
            let there = wakeups.filter(|wakeup| wakeup["cpu"] == 1);
            there.filter(|it| (from_ns..to_ns).contains(&number(&it["expiry_ns"]))).count()
        };
        // Taking it away and giving it back take as long as the host takes, so each has two times.
        let [leaves_ns, away_ns, returns_ns, back_ns] = times[..] else { panic!("{times:?}") };
        // These times are cut to the hundredth of a second.
        let cut_ns = 10_000_000;
        let found = [
            on_it(0, leaves_ns),
            on_it(away_ns + cut_ns, returns_ns),
            on_it(back_ns + cut_ns, u64::MAX),
        ];
        println!("{source}: wakeups on the CPU before, while it was away, and after: {found:?}");
        assert!(found[0] > 100 && found[1] == 0 && found[2] > 100, "{source}: {found:?}");
        let worst = number(&explained["lateness"]["max_ns"]);
        let away = returns_ns - away_ns;
        assert!(worst < away, "{source}: nobody waited for as long as it was away: {worst}");
    }
}

#[test]
fn a_cpu_that_is_away_at_first_is_recorded_once_it_is_there() {
    let script = "
        for it in ebpf tracefs; do
            echo 0 > /sys/devices/system/cpu/cpu1/online
            tardy record --quiet --source $it -o $it -- sh -ec '
                tardy load storm:4 & load=$!
                sleep 1
                cut -d\" \" -f1 /proc/uptime > times; echo 1 > /sys/devices/system/cpu/cpu1/online
                sleep 1
                kill $load; wait $load || true'
            mv times times.$it
        done";
    let kernels = ["small", "policies"];
    let Some(left) = Left::by(&kernels, &["--cpus", "2"], script) else { return };
    for source in SOURCES {
        let back = left.text(&format!("times.{source}"));
        let back_ns = (back.trim().parse::<f64>().expect("s") * 1e9) as u64;
        let explained = explained(&left.path(source), &["--all"]);
        assert_eq!(explained["lost"], 0);
        let wakeups = explained["wakeups"].as_array().expect("a list").iter();
        let on_it: Vec<u64> = wakeups
            .filter(|wakeup| wakeup["cpu"] == 1)
            .map(|wakeup| number(&wakeup["expiry_ns"]))
            .collect();
        println!("{source}: {} wakeups on the CPU since it is there", on_it.len());
        assert!(on_it.len() > 100 && on_it.iter().all(|at_ns| *at_ns >= back_ns), "{source}");
    }
}

/// Rings for all of them would take a gigabyte, which this guest does not have.
#[test]
fn of_256_possible_cpus_those_that_are_there_have_buffers() {
    let script = "
        cp /sys/devices/system/cpu/possible possible
        for it in ebpf tracefs; do
            tardy record --quiet --source $it -o $it -- \
                tardy measure cyclic -t1 -P98 -i1ms -l 500 --quiet
        done
        tardy watch --over 1us --keep 1 --quiet -o flight -- \
            tardy measure cyclic -t1 -P98 -i1ms -l 200 --quiet || [ $? -eq 3 ]";
    let flags = ["--memory", "512", "--append", "possible_cpus=256"];
    // Newer kernels have no more than their firmware tells of.
    let Some(left) = Left::by(&["debian", "debian-rt"], &flags, script) else { return };
    assert_eq!(left.text("possible").trim(), "0-255");
    for (recording, timed_min) in [("ebpf", 490), ("tracefs", 490), ("flight", 1)] {
        let explained = explained(&left.path(recording), &[]);
        balanced(&explained);
        let wakeups = explained["wakeups"].as_array().expect("a list").iter();
        let timed = wakeups.filter(|wakeup| wakeup["kind"] == "timer").count();
        assert!(timed >= timed_min, "{recording}: {timed}");
    }
}

/// As far as a guest can: QEMU's clock of counted instructions never wakes a machine that sleeps, so the kernel's own
/// test of suspending is used. Threads are frozen, devices and the clock are suspended, a second passes, and all is
/// resumed.
#[test]
fn a_machine_is_suspended_and_resumed_in_a_recording() {
    let script = "
        echo 1 > /sys/module/suspend/parameters/pm_test_delay
        echo core > /sys/power/pm_test
        for it in ebpf tracefs; do
            tardy record --quiet --source $it -o $it -- sh -ec '
                tardy measure cyclic -t1 -P98 -i1ms -D 1500ms --quiet & measured=$!
                sleep 0.5
                echo mem > /sys/power/state
                wait $measured'
        done
        cp /sys/power/suspend_stats/success success";
    let Some(left) = Left::by(&["debian", "debian-rt"], &[], script) else { return };
    assert_eq!(left.text("success").trim(), "2");
    for source in SOURCES {
        let explained = explained(&left.path(source), &[]);
        assert_eq!(explained["lost"], 0);
        let (all, share) = balanced(&explained);
        let worst = number(&explained["lateness"]["max_ns"]);
        let wakeups = number(&explained["lateness"]["wakeups"]);
        println!("{source}: {wakeups} wakeups, the latest by {worst} ns, {share} unexplained");
        assert!(all > 0 && share <= UNEXPLAINED_MAX, "{source}: {share}");
        // It goes on afterwards, and nobody is late by a sleep that no clock counts.
        assert!(wakeups > 1000 && worst < 1_000_000_000, "{source}: {wakeups}, {worst}");
    }
}
