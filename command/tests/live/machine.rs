//! The machine: one test at a time, what it allows, and that it is left as it was found.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

static ALONE: Mutex<()> = Mutex::new(());

/// The machine for one test. When the test is over, whatever it started must be gone.
pub(crate) struct Machine {
    found: Found,
    _alone: MutexGuard<'static, ()>,
}

/// What a test must not change.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    mounts: BTreeSet<String>,
    pinned: BTreeSet<PathBuf>,
}

/// How long what was killed may take to go.
const GOING_MAX: Duration = Duration::from_secs(20);

impl Machine {
    /// Waits until no other test loads the machine.
    pub(crate) fn alone() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        Self { found: Found::now(), _alone: alone }
    }

    /// As [`Machine::alone`], where kernel events can be recorded; else says why not.
    pub(crate) fn that_records() -> Option<Self> {
        match cannot_record() {
            None => Some(Self::alone()),
            Some(why) => {
                eprintln!("skipped: {why}");
                None
            }
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // One message is enough.
        if std::thread::panicking() {
            return;
        }
        let begun = Instant::now();
        while !left().is_empty() {
            assert!(begun.elapsed() < GOING_MAX, "left behind: {:?}", left());
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(Found::now(), self.found, "the machine is not as it was found");
    }
}

impl Found {
    fn now() -> Self {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let of_tracing = |line: &&str| line.contains("tracefs") || line.contains("debugfs");
        Self {
            mounts: mounts.lines().filter(of_tracing).map(str::to_owned).collect(),
            pinned: entries("/sys/fs/bpf").collect(),
        }
    }
}

/// Waits for `done`, which must come in the end.
#[track_caller]
pub(crate) fn eventually(otherwise: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < GOING_MAX, "{otherwise}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Told by the kernel alone, so that a tardy that does not find its way is no reason to skip.
fn cannot_record() -> Option<&'static str> {
    const CAP_SYS_ADMIN: u32 = 21;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities = capabilities.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    if !is_root() || capabilities.is_none_or(|all| all >> CAP_SYS_ADMIN & 1 == 0) {
        return Some("this needs root, to record by eBPF");
    }
    let btf = Path::new("/sys/kernel/btf/vmlinux").exists();
    (!btf).then_some("this kernel has no BTF, which recording by eBPF needs")
}

/// What of ours is still there.
fn left() -> Vec<PathBuf> {
    let mut left = own_processes();
    left.extend(stale_instances());
    left
}

/// Processes that run the program under test, by its file.
fn own_processes() -> Vec<PathBuf> {
    let program = std::fs::canonicalize(crate::program::PATH).expect("the program is there");
    let runs_it =
        |process: &PathBuf| std::fs::read_link(process.join("exe")).is_ok_and(|exe| exe == program);
    entries("/proc").filter(runs_it).collect()
}

/// Trace instances of processes that are no more.
fn stale_instances() -> Vec<PathBuf> {
    let dead = |instance: &PathBuf| {
        let name = instance.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let pid = name.strip_prefix("tardy-").and_then(|rest| rest.split('-').next());
        pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
    };
    entries("/sys/kernel/tracing/instances").filter(dead).collect()
}

fn entries(folder: &str) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
