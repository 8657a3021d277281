//! A command that is recorded ends with the recording, however that ends, and runs as whom it is to run as.

use crate::machine::{Machine, eventually};
use crate::program::{PATH, Running, Said, manifest, tardy};
use rustix::process::Signal;
use rustix::thread::sched_getaffinity;
use std::fs::{read_dir, read_to_string};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use tempfile::TempDir;

/// Processes that sleep for this time, which nobody else does.
fn sleeping(time: &str) -> Vec<u32> {
    let processes = read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        let line = read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split('\0').filter(|word| !word.is_empty()).skip(1).eq([time])
    })
    .collect()
}

/// Whether this process was started without it, and what it starts is too.
fn is_ignored(signal: Signal) -> bool {
    let status = read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = u64::from_str_radix(line.unwrap_or_default().trim(), 16).unwrap();
    mask >> (signal.as_raw() - 1) & 1 == 1
}

fn is_gone(time: &str) {
    eventually("the command has ended", || sleeping(time).is_empty());
}

#[test]
fn a_signal_that_ends_tardy_ends_the_command_and_the_recording_is_whole() {
    let Some(_machine) = Machine::that_records() else { return };
    let signals = [Signal::HUP, Signal::TERM, Signal::QUIT, Signal::INT];
    for (at, signal) in signals.into_iter().enumerate() {
        if is_ignored(signal) {
            println!(
                "skipped: whoever started this test ignores {signal:?}, as nohup does, and so does tardy"
            );
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("recording");
        let time = format!("8639{at}.375");
        let mut command = tardy(["record", "-q", "-o"]);
        let running = Running::start(command.arg(&recording).args(["--", "sleep", &time]));
        eventually("it runs", || !sleeping(&time).is_empty());
        running.signal(signal);
        running.said().expect(0);
        is_gone(&time);
        assert_eq!(manifest(&recording)["sealed"], true, "{signal:?}");
    }
}

#[test]
fn a_tardy_that_is_killed_leaves_no_command_behind() {
    let Some(_machine) = Machine::that_records() else { return };
    for (verb, time) in [("record", "86394.375"), ("run", "86395.375")] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = tardy([verb, "-q", "-o"]);
        command.arg(folder.path().join("recording")).args(["--", "sleep", time]);
        let running = Running::start(&mut command);
        eventually("it runs", || !sleeping(time).is_empty());
        running.kill();
        is_gone(time);
    }
}

#[test]
fn a_recorder_that_fails_ends_the_command() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let time = "86396.375";
    let mut command = Command::new("sh");
    // Blocks of 512 bytes: room for the manifest, and for few events.
    command.args(["-c", "ulimit -f 64; exec \"$0\" \"$@\"", PATH, "record", "-q", "-o"]);
    let said = Said::by(command.arg(&recording).args(["--", "sleep", time])).expect(1);
    assert!(said.err.contains("ulimit -f"), "{}", said.err);
    is_gone(time);
    Said::by(tardy(["explain", "--all", "--no-write"]).arg(&recording)).expect(0);
}

#[test]
fn a_command_that_fails_is_recorded_and_said() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let mut command = tardy(["record", "-q", "-o"]);
    let said = Said::by(command.arg(&recording).args(["--", "sh", "-c", "exit 3"])).expect(1);
    assert!(said.err.contains("the command ended with exit status: 3"), "{}", said.err);
    assert_eq!(manifest(&recording)["sealed"], true);
}

/// A folder in which any user may write.
fn open_to_all() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    folder
}

#[test]
fn a_command_runs_as_the_user_that_is_named() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = open_to_all();
    let wrote = folder.path().join("wrote");
    let script =
        format!("id -u -n > {0}; id -G | wc -w >> {0}; echo $HOME >> {0}", wrote.display());
    let mut command = tardy(["record", "-q", "--user", "nobody", "-o"]);
    Said::by(command.arg(folder.path().join("rec")).args(["--", "sh", "-c", &script])).expect(0);
    let said = read_to_string(&wrote).unwrap();
    assert!(said.starts_with("nobody\n1\n/") && !said.contains("/root"), "{said}");
    let said = Said::by(&mut tardy(["record", "--user", "no-such-user", "--", "true"])).expect(2);
    assert!(said.err.contains("no user no-such-user"), "{}", said.err);
}

#[test]
fn what_root_has_open_is_not_open_for_the_user_that_is_named() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = open_to_all();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    let wrote = folder.path().join("wrote");
    let script = format!("{{ cat <&7 || echo closed; }} > {} 2>/dev/null", wrote.display());
    let mut command = Command::new("sh");
    command.args(["-c", "exec 7< \"$1\"; shift; exec \"$0\" \"$@\"", PATH]).arg(&secret);
    command.args(["record", "-q", "--user", "nobody", "-o"]).arg(folder.path().join("rec"));
    Said::by(command.args(["--", "sh", "-c", &script])).expect(0);
    assert_eq!(read_to_string(&wrote).unwrap(), "closed\n");
}

#[test]
fn where_a_command_may_run_is_told_though_it_is_gone_at_the_end() {
    let Some(_machine) = Machine::that_records() else { return };
    let allowed = sched_getaffinity(None).unwrap();
    if allowed.count() == 1 {
        println!("skipped: with one CPU nobody is bound");
        return;
    }
    let cpu = (0..64).rev().find(|cpu| allowed.is_set(*cpu)).expect("a CPU");
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let script = "for i in $(seq 30); do sleep 0.01; done";
    let mut command = tardy(["record", "-q", "-o"]);
    command.arg(&recording).args(["--", "taskset", "-c", &cpu.to_string(), "sh", "-c", script]);
    Said::by(&mut command).expect(0);
    let pid = manifest(&recording)["command_pid"].as_u64().expect("a command");
    let mut export = tardy(["export", "-q", "--format", "text", "-o", "-"]);
    let text = Said::by(export.arg(&recording)).expect(0).out;
    let told = text.lines().filter(|line| line.contains("task_cpus"));
    let of_it: Vec<&str> = told.filter(|line| line.contains(&format!("-{pid} "))).collect();
    let is_bound = |line: &&str| line.contains(&format!("cpus=0x{:x}", 1u64 << cpu));
    assert!(of_it.last().is_some_and(is_bound), "{of_it:?}");
}
