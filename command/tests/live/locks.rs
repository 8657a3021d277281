//! Calls for a lock with priority inheritance, many of them, on this kernel.

use crate::machine::Machine;
use crate::program::{Said, tardy};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the program whose thread `pi-high`, of a real-time priority, lends it to `pi-low`, an ordinary one.
pub(crate) fn contenders(folder: &Path) -> PathBuf {
    let program = folder.join("pi");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/pi.c");
    let built = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
        .arg(&program)
        .arg(source)
        .status();
    assert!(built.expect("a C compiler").success());
    program
}

#[test]
fn no_double_boost_is_seen_where_there_is_none() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = contenders(folder.path());
    // While the holder runs, the kernel spins; a wait with all that belongs to it is where it sleeps.
    for (contended, how, waits_min) in [(100_000, "spin", 1), (10_000, "sleep", 2_000)] {
        let recording = folder.path().join(how);
        Said::by(
            tardy(["record", "--quiet", "--buffer", "16384", "-o"])
                .arg(&recording)
                .arg("--")
                .arg(&program)
                .args([&contended.to_string(), how]),
        )
        .expect(0);
        check(&recording, contended, waits_min);
    }
}

fn check(recording: &Path, contended: u64, waits_min: u64) {
    let said = Said::by(
        tardy(["explain", "--json", "--no-write", "--comm", "pi-high", "--worst", "200"])
            .arg(recording),
    )
    .expect(0);
    let explained = said.json();
    let wakeups = explained["lateness"]["wakeups"].as_u64().expect("a number");
    assert!(wakeups >= waits_min, "{wakeups} waits in {contended} calls");
    println!("{contended} calls, {wakeups} wakeups, {} events lost", explained["lost"]);
    let patterns = explained["patterns"].as_array().expect("a list");
    let doubled = patterns.iter().find(|pattern| pattern["name"] == "double_pi_boost");
    assert!(doubled.is_none(), "{doubled:#?}");

    let mut holders = 0;
    for wakeup in explained["wakeups"].as_array().expect("a list") {
        let sum = |list: &serde_json::Value| -> u64 {
            let list = list.as_array().expect("a list");
            list.iter().map(|part| part["ns"].as_u64().expect("a number")).sum()
        };
        let late = wakeup["lateness_ns"].as_u64().expect("a number");
        assert_eq!(sum(&wakeup["segments"]), late);
        if wakeup["kind"] == "lock" {
            assert_eq!(sum(&wakeup["stretches"]), late);
            assert_eq!(wakeup["lock"]["op"], "LOCK_PI");
            let held = wakeup["stretches"].as_array().expect("a list").iter();
            holders += held.filter(|stretch| stretch["holder"]["name"] == "pi-low").count();
        }
    }
    assert!(holders > 0, "nobody is known to have held the lock");
}
