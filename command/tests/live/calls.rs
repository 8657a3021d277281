//! By which call a thread sleeps is known of programs of 64 bits and of 32.

use crate::machine::Machine;
use crate::program::{Said, tardy};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How often it sleeps by each call.
const COUNT: u64 = 100;

/// Armings may go unseen where the hypervisor takes the CPU amid one.
const SEEN_MIN: u64 = COUNT * 9 / 10;

/// The program, or why there is none.
fn built(folder: &Path, bits: &str) -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/sleeps.c");
    let program = folder.join(format!("sleeps{bits}"));
    if !cfg!(target_arch = "x86_64") {
        return Err("its calls are those of x86".to_owned());
    }
    let built = Command::new("cc")
        .args([&format!("-m{bits}"), "-O1", "-ffreestanding", "-nostdlib", "-static", "-fno-pie"])
        .args(["-no-pie", "-mgeneral-regs-only", &format!("-DCOUNT={COUNT}"), "-o"])
        .args([&program, &source])
        .output()
        .map_err(|error| format!("cc: {error}"))?;
    if !built.status.success() {
        return Err(format!("cc makes none: {}", String::from_utf8_lossy(&built.stderr)));
    }
    match Command::new(&program).status() {
        Ok(_) => Ok(program),
        Err(error) => Err(format!("this kernel does not run it: {error}")),
    }
}

/// How many timers the program's thread armed by each call.
fn armed(recording: &Path) -> BTreeMap<String, u64> {
    let mut explain = tardy(["explain", "--timers", "--all", "--json", "--no-write"]);
    let explained = Said::by(explain.arg(recording)).expect(0).json();
    let rows = explained["timers"].as_array().expect("a list");
    let mut armed = BTreeMap::new();
    for row in
        rows.iter().filter(|row| row["name"].as_str().is_some_and(|it| it.starts_with("sleeps")))
    {
        let call = row["call"].as_str().unwrap_or("unknown").to_owned();
        *armed.entry(call).or_default() += row["armed"].as_u64().unwrap_or_default();
    }
    armed
}

#[test]
fn the_call_of_each_sleep_is_known_of_programs_of_64_and_of_32_bits() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for bits in ["64", "32"] {
        let program = match built(folder.path(), bits) {
            Ok(program) => program,
            Err(why) => {
                eprintln!("skipped: a program of {bits} bits: {why}");
                continue;
            }
        };
        let has_futex_wait =
            Command::new(&program).status().expect("it ran before").code() == Some(0);
        let recording = folder.path().join(bits);
        // tracefs records no system calls.
        let mut record = tardy(["record", "--quiet", "--source", "ebpf", "-o"]);
        let said = Said::by(record.arg(&recording).arg("--").arg(&program));
        assert!(said.status <= 1, "{}", said.err);
        let armed = armed(&recording);
        println!("{bits} bits: {armed:?}");
        let at_least = |call: &str, times: u64| {
            let seen = armed.get(call).copied().unwrap_or_default();
            assert!(seen >= times * SEEN_MIN, "{bits} bits, {call}: {armed:?}");
        };
        at_least("nanosleep", 1);
        at_least("clock_nanosleep", 2);
        at_least("futex", if has_futex_wait { 2 } else { 1 });
        at_least("poll", 1);
    }
}
