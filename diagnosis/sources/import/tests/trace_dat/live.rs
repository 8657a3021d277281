//! Recordings made here and now, held against what `trace-cmd report` prints of them.

use crate::reading::{assert_counts, data, read};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use tardy_model::Kind;

/// Records a second of sleeping; or says why that cannot be done here.
fn record(file: &Path, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("sh")
        .arg(data("record-apart.sh"))
        .args(["-q", "-e", "sched", "-e", "timer", "-e", "irq", "-e", "raw_syscalls"])
        .args(["-e", "irq_vectors:local_timer_entry", "-o"])
        .arg(file)
        .args(arguments)
        .args(["sh", "-c", "for n in 1 2 3 4 5 6 7 8 9 10; do sleep 0.02; done"])
        .stdin(Stdio::null())
        .output();
    match output {
        Err(error) => Err(error.to_string()),
        Ok(output) if output.status.success() && file.exists() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// Times, and names of events. Some clocks are shown as `seconds.nanoseconds`, some as they are.
fn report(file: &Path) -> Vec<(String, String)> {
    let output = Command::new("trace-cmd").args(["report", "-t"]).arg(file).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |line: &str| {
        // After the CPU: `[001]`.
        let cpu = line.as_bytes().windows(5).position(|five| {
            five[0] == b'[' && five[4] == b']' && five[1..4].iter().all(u8::is_ascii_digit)
        })?;
        let mut words = line[cpu + 5..].trim().split(": ");
        Some((words.next()?.replace('.', ""), words.next()?.trim().to_owned()))
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn reads_what_trace_cmd_records_here() {
    let folder = tempfile::tempdir().unwrap();
    for (clock, arguments) in [
        ("mono", &["-C", "mono", "--file-version", "6"][..]),
        ("local", &["-C", "local", "--file-version", "7", "--compression", "zstd"]),
        ("boot", &["-C", "boot", "--file-version", "7", "--compression", "none"]),
        ("x86-tsc", &["-C", "x86-tsc"]),
    ] {
        let file = folder.path().join(format!("{clock}.dat"));
        if let Err(why) = record(&file, arguments) {
            println!("skipped: trace-cmd cannot record with the clock {clock} here: {why}");
            continue;
        }
        let whole = read(&file).unwrap();
        let report = report(&file);
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for (_, name) in &report {
            *counts.entry(name.clone()).or_default() += 1;
        }
        assert_counts(&whole, &counts);
        assert_eq!(whole.origin.clock, clock);
        let switches = whole.events.iter().filter(|event| matches!(event.kind(), Kind::Switch(_)));
        if clock != "x86-tsc" {
            let ours: Vec<String> = switches.map(|event| event.time_ns.to_string()).collect();
            let theirs: Vec<&String> = report
                .iter()
                .filter(|(_, name)| name == "sched_switch")
                .map(|(at, _)| at)
                .collect();
            assert_eq!(ours.iter().collect::<Vec<_>>(), theirs, "{clock}");
        }
        // Whatever the clock, timers expire after they were due, and not for long.
        let mut late: Vec<i64> = whole
            .events
            .iter()
            .filter_map(|event| match event.kind() {
                Kind::ExpireBegin(expiry) if !expiry.mode.is_soft() => {
                    Some(event.time_ns as i64 - expiry.soft_ns as i64)
                }
                _ => None,
            })
            .collect();
        late.sort_unstable();
        println!(
            "{clock}: {} expiries, {:?} .. {:?} ns late",
            late.len(),
            late.first(),
            late.last()
        );
        assert!(late.len() > 10, "{clock}");
        assert!(late[0] >= -2_000, "{clock}: {late:?}");
        let middle = late[late.len() / 2];
        assert!(middle < 1_000_000_000, "{clock}: {middle} ns");
    }
}

/// The fixtures of `ARMv7` are made by a script, which is tried where somebody asks for it.
#[test]
fn a_recording_made_in_a_virtual_machine() {
    if std::env::var_os("TARDY_TEST_VM").is_none() {
        println!(
            "skipped: TARDY_TEST_VM is not set (boots an ARMv7 kernel in QEMU, downloads it once)"
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new("sh").arg(data("make-armv7.sh")).arg(folder.path()).status().unwrap();
    if made.code() == Some(77) {
        println!("skipped: the guest's packages cannot be had here");
        return;
    }
    assert!(made.success());
    for name in ["armv7-v7-zstd-local.dat", "armv7-v6-mono.dat"] {
        let whole = read(&folder.path().join(name)).unwrap();
        assert_eq!(whole.origin.machine, "armv7l", "{name}");
        let of = |is_it: fn(&Kind) -> bool| {
            whole.events.iter().filter(|event| is_it(&event.kind())).count()
        };
        assert!(of(|kind| matches!(kind, Kind::ExpireBegin(_))) > 50, "{name}");
        assert!(of(|kind| matches!(kind, Kind::SyscallExit(_))) > 50, "{name}");
    }
}
