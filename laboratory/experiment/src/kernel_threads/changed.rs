//! Kernel threads while they are changed, and how they get back what they had: through the journal of all that is
//! changed.

use super::{Wanted, threads, up_to_slash};
use tardy_remedy::{Changed, Journal, Outcome, Place, Setting, Undone};

/// Changes them as wanted; nothing at all where nothing is wanted. Dropped, they get back what they had.
///
/// # Errors
/// Why it cannot be done; then nothing is left changed.
pub(crate) fn change(wanted: &Wanted) -> Result<Changed, String> {
    change_by(wanted, &Journal::system())
}

fn change_by(wanted: &Wanted, journal: &Journal) -> Result<Changed, String> {
    let threads = if wanted.is_empty() { Vec::new() } else { threads(wanted)? };
    let setting = |thread: tardy_remedy::Thread| Setting {
        to: wanted[up_to_slash(&thread.name)].to_string(),
        place: Place::Policy(thread),
    };
    let settings: Vec<Setting> = threads.into_iter().map(setting).collect();
    journal.change(&settings, "an experiment").map_err(|error| error.to_string())
}

/// Gives them back what they had.
///
/// # Errors
/// Which did not get it and why; the next start tries again.
pub(crate) fn put_back(changed: Changed) -> Result<(), String> {
    let undone = changed.undo();
    let failed = undone.iter().filter(|it| matches!(it.outcome, Outcome::Failed { .. }));
    let failed: Vec<String> = failed.map(Undone::words).collect();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tardy_host::Root;
    use tardy_thread_policy::{self as policy, Policy};

    const TO: Policy = Policy::Batch { nice: 3 };

    fn have(tids: &[(u32, Policy)], expected: impl Fn(Policy) -> Policy) {
        for &(tid, was) in tids {
            assert_eq!(policy::of(tid).unwrap(), expected(was));
        }
    }

    #[test]
    fn they_get_back_what_they_had_however_it_ends() {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root changes kernel threads");
            return;
        }
        let wanted = BTreeMap::from([("ksoftirqd".to_owned(), TO)]);
        let threads = threads(&wanted).unwrap();
        if threads.is_empty() {
            println!("skipped: kernel threads are not to be seen here");
            return;
        }
        let before: Vec<_> =
            threads.iter().map(|one| (one.tid, policy::of(one.tid).unwrap())).collect();
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::at(Root::at(folder.path()));

        let changed = change_by(&wanted, &journal).unwrap();
        have(&before, |_| TO);
        assert!(change_by(&wanted, &journal).unwrap_err().contains("another tardy"));
        assert!(journal.undo_left_over().is_empty(), "it is not left over while it is at work");
        put_back(changed).unwrap();
        have(&before, |was| was);

        drop(change_by(&wanted, &journal).unwrap());
        have(&before, |was| was);
        assert!(journal.undo_left_over().is_empty());
    }

    #[test]
    fn where_nothing_is_wanted_nothing_is_done() {
        let journal = Journal::at(Root::at("/proc/none"));
        put_back(change_by(&Wanted::new(), &journal).unwrap()).unwrap();
        assert!(journal.undo_left_over().is_empty());
    }
}
