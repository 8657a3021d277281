//! The example `load` as a child.

use procfs::process::all_processes;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What has not come by then never will.
const PATIENCE: Duration = Duration::from_secs(60);

/// The example, which cargo builds before it runs tests. None, with a reason printed, where only this
/// test was built.
pub(crate) fn path() -> Option<PathBuf> {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().unwrap().parent().unwrap().join("examples/load");
    if !path.exists() {
        println!("skipped: {} is not built; `cargo test -p tardy-lab` does", path.display());
        return None;
    }
    Some(path)
}

/// A process, whatever becomes of its number: (number, start).
pub(crate) type Process = (i32, u64);

/// A load that runs in a program of its own.
pub(crate) struct Program {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    pub(crate) tids: Vec<u32>,
}

impl Program {
    /// Returns once all of the load runs.
    pub(crate) fn start(load: &str) -> Option<Self> {
        // Whoever started the tests may have had it ignore signals, as a shell does in the background.
        let mut command = Command::new("env");
        command.arg("--default-signal").arg(path()?).arg(load);
        Some(Self::start_by(&mut command))
    }

    pub(crate) fn start_by(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        // Ends with the child, or with the one who listens.
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let line = lines.recv_timeout(PATIENCE).unwrap_or_default();
        let tids = line.strip_prefix("running [").and_then(|rest| rest.strip_suffix(']'));
        let tids = tids.unwrap_or_else(|| panic!("{command:?} said {line:?}"));
        let tids = tids.split(", ").filter_map(|tid| tid.parse().ok()).collect();
        Self { stdin: child.stdin.take(), child, lines, tids }
    }

    /// The first number that it has done so far.
    pub(crate) fn count(&mut self) -> u64 {
        self.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let line = self.lines.recv_timeout(PATIENCE).expect("an answer");
        let number = line.rsplit_once(": ").and_then(|(_, done)| done.split(' ').next());
        number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{line:?}"))
    }

    /// Waits until the load has come to an end by itself. Returns what it then says.
    pub(crate) fn wait(mut self) -> String {
        self.stdin.as_mut().unwrap().write_all(b"wait\n").unwrap();
        self.lines.recv_timeout(PATIENCE).expect("the end of the load");
        self.stop()
    }

    /// Ends it in the orderly way. Returns what it then says.
    pub(crate) fn stop(mut self) -> String {
        drop(self.stdin.take());
        let said = self.lines.iter().collect::<Vec<_>>().join("\n");
        assert!(self.child.wait().unwrap().success(), "{said}");
        said
    }

    /// Everything beneath it at this moment.
    pub(crate) fn beneath(&self) -> BTreeSet<Process> {
        let all: Vec<_> =
            all_processes().unwrap().filter_map(|one| one.ok()?.stat().ok()).collect();
        let mut found = vec![self.child.id() as i32];
        let mut next = 0;
        while let Some(&parent) = found.get(next) {
            found.extend(all.iter().filter(|stat| stat.ppid == parent).map(|stat| stat.pid));
            next += 1;
        }
        let is_beneath = |pid| found[1..].contains(&pid);
        all.iter().filter(|one| is_beneath(one.pid)).map(|one| (one.pid, one.starttime)).collect()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until it holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Which of them are still there.
pub(crate) fn left_of(processes: &BTreeSet<Process>) -> Vec<Process> {
    let is_there = |&&(pid, start): &&Process| {
        let stat = procfs::process::Process::new(pid).and_then(|process| process.stat());
        stat.is_ok_and(|stat| stat.starttime == start)
    };
    processes.iter().filter(is_there).copied().collect()
}

/// A file of a thread in /proc; threads are found there although they are not listed.
pub(crate) fn of_thread(tid: u32, file: &str) -> String {
    std::fs::read_to_string(format!("/proc/{tid}/{file}")).unwrap()
}

/// A field of `/proc/TID/stat`, by its number in `proc_pid_stat(5)`.
pub(crate) fn stat_field(tid: u32, field: usize) -> i64 {
    let stat = of_thread(tid, "stat");
    let fields = stat.rsplit(')').next().unwrap();
    fields.split_whitespace().nth(field - 3).unwrap().parse().unwrap()
}
