//! Kernel threads while they are changed, and how they get back what they had.

use super::journal::{Entry, Journal, PATH, Refused};
use super::{Wanted, threads, up_to_slash};
use procfs::process::Process;
use std::io;
use std::path::Path;
use tardy_thread_policy as policy;

/// Threads that are changed. Dropped, they get back what they had.
#[derive(Debug)]
pub(crate) struct Changed {
    /// `None` once they have.
    journal: Option<Journal>,
    entries: Vec<Entry>,
}

/// Changes them as wanted; nothing at all where nothing is wanted.
///
/// # Errors
/// Why it cannot be done; then nothing is left changed.
pub(crate) fn change(wanted: &Wanted) -> Result<Changed, String> {
    change_by(wanted, Path::new(PATH))
}

fn change_by(wanted: &Wanted, path: &Path) -> Result<Changed, String> {
    if wanted.is_empty() {
        return Ok(Changed { journal: None, entries: Vec::new() });
    }
    let threads = threads(wanted)?;
    let mut entries = Vec::with_capacity(threads.len());
    for thread in threads {
        let was = policy::of(thread.tid)
            .map_err(|error| format!("the policy of {} is not told: {error}", thread.name))?;
        entries.push(Entry::new(thread.tid, thread.start, thread.name, was));
    }
    let not_written = |error: io::Error| {
        format!(
            "what kernel threads are now could not be written to {}, so none is changed: {error}; run \
             as root, with /run to be written to",
            path.display()
        )
    };
    let mut journal = Journal::open(path).map_err(|refused| match refused {
        Refused::Busy => {
            "another tardy has changed kernel threads: wait for its end, or end it".to_owned()
        }
        Refused::Io(error) => not_written(error),
    })?;
    let left_over = journal.read().map_err(not_written)?;
    if !left_over.is_empty() {
        put_back(&left_over)?;
        // What is there now is what they had.
        journal.end().map_err(not_written)?;
        return change_by(wanted, path);
    }
    journal.write(&entries).map_err(not_written)?;
    let changed = Changed { journal: Some(journal), entries };
    for entry in &changed.entries {
        let to = wanted[up_to_slash(&entry.name)];
        // Dropped, it puts back those before.
        policy::set(entry.tid, to).map_err(|error| {
            format!("{} could not be given {to}: {error}; run as root", entry.name)
        })?;
    }
    Ok(changed)
}

impl Changed {
    /// Gives them back what they had.
    ///
    /// # Errors
    /// Which did not get it and why; the next start tries again.
    pub(crate) fn put_back(mut self) -> Result<(), String> {
        self.again()
    }

    fn again(&mut self) -> Result<(), String> {
        let Some(journal) = self.journal.take() else { return Ok(()) };
        put_back(&self.entries)?;
        journal.end().map_err(|error| format!("{PATH} could not be removed: {error}"))
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        // Who wants to know asks `put_back`.
        let _ = self.again();
    }
}

/// Gives back what a process that was killed had changed. Says what it did, or why it could not.
pub(crate) fn put_back_left_over() -> Option<String> {
    left_over_by(Path::new(PATH))
}

fn left_over_by(path: &Path) -> Option<String> {
    if !path.exists() {
        return None;
    }
    let still = |why: String| {
        Some(format!(
            "An experiment that was killed left kernel threads changed, and they still are: {why}. Run \
             one as root to put them back."
        ))
    };
    let mut journal = match Journal::open(path) {
        Ok(journal) => journal,
        // It is at work.
        Err(Refused::Busy) => return None,
        Err(Refused::Io(error)) => return still(error.to_string()),
    };
    let entries = match journal.read() {
        Ok(entries) => entries,
        Err(error) => return still(error.to_string()),
    };
    match put_back(&entries) {
        Ok(()) if entries.is_empty() => {
            journal.end().err().and_then(|error| still(error.to_string()))
        }
        Ok(()) => {
            let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
            let told = format!(
                "An experiment that was killed had left {} changed; they have again what they had.",
                names.join(", ")
            );
            journal.end().err().map_or(Some(told), |error| still(error.to_string()))
        }
        Err(why) => still(why),
    }
}

/// Gives threads what they had, all that can be. Those that are gone need nothing.
fn put_back(entries: &[Entry]) -> Result<(), String> {
    let mut failed: Vec<String> = Vec::new();
    // The last entry of a thread is not the oldest: the first is what it had.
    for entry in entries.iter().rev() {
        let Some(was) = entry.was() else { continue };
        if !is_there(entry) {
            continue;
        }
        if let Err(error) = policy::set(entry.tid, was) {
            failed.push(format!("{} could not be given {was} again: {error}", entry.name));
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

/// Whether it is the thread that was changed, and not a later one of its number.
fn is_there(entry: &Entry) -> bool {
    let stat = Process::new(entry.tid.cast_signed()).and_then(|process| process.stat());
    stat.is_ok_and(|stat| stat.starttime == entry.start && stat.comm == entry.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tardy_thread_policy::Policy;

    const TO: Policy = Policy::Batch { nice: 3 };

    /// The threads, and `None` with a word why where they may not be changed here.
    fn all() -> Option<(Wanted, Vec<(u32, Policy)>)> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root changes kernel threads");
            return None;
        }
        let wanted = BTreeMap::from([("ksoftirqd".to_owned(), TO)]);
        let threads = threads(&wanted).unwrap();
        if threads.is_empty() {
            println!("skipped: kernel threads are not to be seen here");
            return None;
        }
        let now = threads.iter().map(|one| (one.tid, policy::of(one.tid).unwrap())).collect();
        Some((wanted, now))
    }

    fn have(tids: &[(u32, Policy)], expected: impl Fn(Policy) -> Policy) {
        for &(tid, was) in tids {
            assert_eq!(policy::of(tid).unwrap(), expected(was));
        }
    }

    /// One test: two at a time would see each other's changes.
    #[test]
    fn they_get_back_what_they_had_however_it_ends() {
        let Some((wanted, before)) = all() else { return };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/tardy/kernel-threads.jsonl");

        let changed = change_by(&wanted, &path).unwrap();
        have(&before, |_| TO);
        assert!(change_by(&wanted, &path).unwrap_err().contains("another tardy"));
        assert_eq!(left_over_by(&path), None, "it is not left over while it is at work");
        changed.put_back().unwrap();
        have(&before, |was| was);
        assert!(!path.exists());

        drop(change_by(&wanted, &path).unwrap());
        have(&before, |was| was);

        // As a process leaves it that is killed: the lock is gone, the file is not.
        for next_is_a_change in [false, true] {
            let mut changed = change_by(&wanted, &path).unwrap();
            drop(changed.journal.take());
            drop(changed);
            have(&before, |_| TO);
            if next_is_a_change {
                change_by(&wanted, &path).unwrap().put_back().unwrap();
            } else {
                assert!(left_over_by(&path).unwrap().contains("ksoftirqd/0"));
            }
            have(&before, |was| was);
            assert!(!path.exists());
        }

        // A thread that is gone, a policy that is none, a line that was not finished.
        let mut journal = Journal::open(&path).unwrap();
        let gone = Entry::new(before[0].0, 1, "ksoftirqd/0".to_owned(), TO);
        journal.write(&[gone]).unwrap();
        drop(journal);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{}", &text[..9])).unwrap();
        assert!(left_over_by(&path).is_some());
        have(&before, |was| was);
    }

    #[test]
    fn where_nothing_is_wanted_nothing_is_done() {
        let path = Path::new("/proc/none/kernel-threads.jsonl");
        change_by(&Wanted::new(), path).unwrap().put_back().unwrap();
        assert_eq!(left_over_by(path), None);
    }
}
