//! Whose numbers of processes: those of one PID namespace mean nothing in another, and both may share a journal.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The outermost namespace, in which all processes are to be seen: `PROC_PID_INIT_INO` of `<linux/proc_ns.h>`.
const OUTERMOST: u64 = 0xEFFF_FFFC;

/// That of this process; `None` where `/proc` tells numbers of another.
pub(super) fn own() -> Option<u64> {
    let told = std::fs::read_link("/proc/self").ok()?;
    let is_own = told.to_str() == Some(&std::process::id().to_string());
    of(Path::new("/proc/self/ns/pid")).filter(|_| is_own)
}

fn of(path: &Path) -> Option<u64> {
    Some(std::fs::metadata(path).ok()?.ino())
}

/// Those that have a process, looked up once.
#[derive(Default)]
pub(super) struct Namespaces(OnceCell<Option<BTreeSet<u64>>>);

impl Namespaces {
    /// Whether one has certainly no process any more: who was in it has ended.
    pub(super) fn is_gone(&self, namespace: u64) -> bool {
        self.0.get_or_init(all).as_ref().is_some_and(|all| !all.contains(&namespace))
    }
}

/// How many numbers a process has: one in each namespace from here to its own.
fn numbers(process: &Path) -> usize {
    let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.unwrap_or_default().split_whitespace().count()
}

/// `None` where not all are to be seen.
fn all() -> Option<BTreeSet<u64>> {
    own().filter(|own| *own == OUTERMOST)?;
    let mut all = BTreeSet::new();
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let name = entry.file_name();
        if !name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        match std::fs::metadata(entry.path().join("ns/pid")) {
            Ok(about) => {
                all.insert(about.ino());
            }
            // It has ended.
            Err(_) if !entry.path().join("stat").exists() => {}
            // One that has ended and waits for its parent has no namespace any more.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            // Some let nobody look, but their numbers can be read: who has one alone is in the outermost.
            Err(_) if numbers(&entry.path()) == 1 => {}
            Err(_) => return None,
        }
    }
    Some(all)
}
