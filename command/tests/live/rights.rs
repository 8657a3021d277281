//! What may who records or shows still do, once all is attached? The kernel says.

use crate::machine::{Machine, eventually};
use crate::program::{self, Running, Said, tardy};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const CAP_DAC_READ_SEARCH: u64 = 1 << 2;
const CAP_SYS_PTRACE: u64 = 1 << 19;
const CAP_SYS_ADMIN: u64 = 1 << 21;
/// A filter of system calls.
const FILTERED: u64 = 2;

/// What the kernel says of a thread, in whatever base it says it.
fn status(thread: &Path) -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(thread.join("status")).unwrap_or_default();
    let fields = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let base = if name.starts_with("Cap") { 16 } else { 10 };
        Some((name.to_owned(), u64::from_str_radix(value.trim(), base).ok()?))
    });
    fields.collect()
}

/// The threads of a process, by name.
fn threads(pid: u32) -> Vec<(String, BTreeMap<String, u64>)> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let of = |task: std::fs::DirEntry| {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        Some((name.trim().to_owned(), status(&task.path())))
    };
    tasks.flatten().filter_map(of).collect()
}

/// Starts tardy, and waits until one of its threads with that name has a filter; what the kernel says of it then.
fn confined(arguments: &[&str], thread: &str) -> Option<BTreeMap<String, u64>> {
    let mut running = Running::start(&mut tardy(arguments));
    let mut found = None;
    eventually(&format!("{arguments:?}: {thread} gives up nothing"), || {
        let all = threads(running.pid());
        let filtered = |status: &BTreeMap<String, u64>| status.get("Seccomp") == Some(&FILTERED);
        // A thread that has just begun is called as the program too.
        let is_it = |name: &str, status: &BTreeMap<String, u64>| {
            name == thread && (thread != "tardy" || status.get("Pid") == status.get("Tgid"))
        };
        found = all.into_iter().find(|(name, status)| is_it(name, status) && filtered(status));
        found.is_some() || running.has_ended().is_some()
    });
    let said = running.interrupt();
    if found.is_none() {
        assert!(said.err.contains("cannot"), "it ended: {}{}", said.out, said.err);
        eprintln!("skipped: {}", said.err);
    }
    found.map(|(_, status)| status)
}

#[test]
fn who_records_keeps_what_recording_takes_and_who_shows_keeps_nothing() {
    let Some(_machine) = Machine::that_records() else { return };
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        eprintln!("skipped: there is no filter for this architecture");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let out = out.to_str().unwrap();
    let night = home.path().join("night");
    let night = night.to_str().unwrap();
    let own = std::process::id().to_string();
    for (arguments, thread) in [
        (vec!["record", "-D", "60", "-o", out], "tardy-record"),
        (vec!["watch", "--over", "1s", "-D", "60", "-p", &own, "-o", night], "tardy"),
    ] {
        let Some(status) = confined(&arguments, thread) else { continue };
        assert_eq!(status["NoNewPrivs"], 1, "{arguments:?}");
        assert_eq!(status["CapEff"] & CAP_SYS_ADMIN, 0, "{arguments:?}: {status:?}");
        assert_eq!(status["CapEff"], status["CapPrm"], "{arguments:?}: {status:?}");
    }
    // Symbols of strangers' programs are read with less than that.
    let stacks = home.path().join("stacks");
    let record = ["record", "--stacks=1us", "-D", "60", "-o", stacks.to_str().unwrap()];
    if let Some(status) = confined(&record, "tardy-symbols") {
        let kept = CAP_DAC_READ_SEARCH | CAP_SYS_PTRACE;
        assert_eq!((status["CapPrm"] & !kept, status["NoNewPrivs"]), (0, 1), "{status:?}");
    }
    let top = ["top", "--json", "-i", "60s"];
    if let Some(status) = confined(&top, "tardy") {
        assert_eq!((status["CapPrm"], status["NoNewPrivs"]), (0, 1), "{status:?}");
    }
    if let Some(status) = confined(&top, "tardy-stream") {
        assert_eq!(status["NoNewPrivs"], 1, "{status:?}");
    }
}

/// The capabilities of a unit's bounding set, as setpriv has them.
fn bounding_set(unit: &str) -> String {
    let set = unit.lines().find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let names = set.expect("it has one").split_whitespace();
    let names = names.map(|name| name.trim_start_matches("CAP_").to_lowercase());
    names.fold("-all".to_owned(), |set, name| set + ",+" + &name)
}

#[test]
fn a_watch_does_with_the_capabilities_of_its_unit() {
    let Some(_machine) = Machine::that_records() else { return };
    let unit = include_str!("../../../packaging/tardy-watch.service");
    let set = bounding_set(unit);
    let home = tempfile::tempdir().unwrap();
    let night = home.path().join("night");
    let cyclic = ["measure", "cyclic", "--json", "-t", "1", "-P", "50", "-i", "1ms", "-D", "60"];
    let victim = Running::start(&mut tardy(cyclic));
    // A thread that begins while its process is looked at may be known by its number alone.
    eventually("the thread that measures never got its name", || {
        threads(victim.pid()).iter().any(|(name, _)| name == "cyclic-0")
    });
    let mut command = Command::new("setpriv");
    command.args(["--no-new-privs", "--inh-caps=-all", "--bounding-set", &set, program::PATH]);
    // Everybody is later than that.
    command.args(["watch", "--json", "--over", "1ns", "-D", "20", "--exit-after", "1", "-p"]);
    let said = Said::by(command.arg(victim.pid().to_string()).arg("-o").arg(&night));
    let tasks = std::fs::read_dir(format!("/proc/{}/task", victim.pid())).unwrap();
    let alive: Vec<String> =
        tasks.map(|task| task.unwrap().file_name().into_string().unwrap()).collect();
    victim.kill();
    if said.err.contains("needs eBPF") || said.err.contains("setpriv") {
        eprintln!("skipped: {}", said.err);
        return;
    }
    let document = said.expect(3).json();
    let kept = night.join(document["kept"][0]["recording"].as_str().unwrap());
    let told = Said::by(tardy(["explain", "--no-write"]).arg(&kept)).expect(0).out;
    // Or the thread of its process that waits for the end. One that has ended may be known by its number alone.
    let is_victim = ["Kept for cyclic-0", "Kept for tardy"].iter().any(|kept| told.contains(kept));
    let (_, number) = told.split_once("Kept for thread ").unwrap_or_default();
    let number = number.split_whitespace().next();
    let has_ended = number.is_some_and(|number| !alive.iter().any(|task| task == number));
    assert!(is_victim || has_ended, "{alive:?}: {told}");
}
