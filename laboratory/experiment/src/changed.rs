//! What a condition changes of the system, and how all gets back what it had: through the journal of all that is
//! changed.

use tardy_remedy::{Changed, Journal, Outcome, Setting, Undone};

/// Changes them; nothing at all where there are none. Dropped, they get back what they had.
///
/// # Errors
/// Why it cannot be done; then nothing is left changed.
pub(crate) fn change(settings: &[Setting]) -> Result<Changed, String> {
    change_by(settings, &Journal::system())
}

fn change_by(settings: &[Setting], journal: &Journal) -> Result<Changed, String> {
    journal.change(settings, "an experiment").map_err(|error| error.to_string())
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
    use crate::kernel_threads;
    use std::collections::BTreeMap;
    use tardy_host::Root;
    use tardy_remedy::Place;
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
        let settings = kernel_threads::settings(&wanted).unwrap();
        if settings.is_empty() {
            println!("skipped: kernel threads are not to be seen here");
            return;
        }
        let tid = |one: &Setting| match &one.place {
            Place::Policy(thread) => thread.tid,
            other => panic!("{other:?}"),
        };
        let before: Vec<_> =
            settings.iter().map(|one| (tid(one), policy::of(tid(one)).unwrap())).collect();
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::at(Root::at(folder.path()));

        let changed = change_by(&settings, &journal).unwrap();
        have(&before, |_| TO);
        assert!(change_by(&settings, &journal).unwrap_err().contains("another tardy"));
        assert!(journal.undo_left_over().is_empty(), "it is not left over while it is at work");
        put_back(changed).unwrap();
        have(&before, |was| was);

        drop(change_by(&settings, &journal).unwrap());
        have(&before, |was| was);
        assert!(journal.undo_left_over().is_empty());
    }

    #[test]
    fn where_nothing_is_wanted_nothing_is_done() {
        let journal = Journal::at(Root::at("/proc/none"));
        put_back(change_by(&[], &journal).unwrap()).unwrap();
        assert!(journal.undo_left_over().is_empty());
    }
}
