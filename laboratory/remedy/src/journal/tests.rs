//! What is changed is taken back, whoever comes between.

mod threads;
mod values;

use super::*;
use crate::place::{Form, Thread};
use std::fs;
use tempfile::TempDir;

struct Fixture {
    folder: TempDir,
    journal: Journal,
}

impl Fixture {
    fn new() -> Self {
        // What tests start is ordinary, however nice they are themselves. Only root may, and only root's tests ask.
        let _ = rustix::process::setpriority_process(None, 0);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "1\n").unwrap();
        fs::write(folder.path().join("b"), "1\n").unwrap();
        let journal = Journal::at(Root::at(folder.path()));
        Self { folder, journal }
    }

    fn value(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap().trim().to_owned()
    }

    fn value_or_none(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    fn put(&self, name: &str, value: &str) {
        fs::write(self.folder.path().join(name), value).unwrap();
    }

    /// As a process leaves it that is killed after these were written down: who did it is gone.
    fn leave_over(&self, changes: &[(&str, &str, &str)]) {
        let mut book = self.journal.open(true).unwrap();
        let entries = changes.iter().map(|(name, old, new)| {
            let value = |text: &str| Some(text.to_owned());
            let mut entry = Entry::new(place(name), value(old), value(new), "a test");
            entry.by = Thread { start: 1, ..entry.by };
            entry
        });
        book.add(&entries.collect::<Vec<_>>()).unwrap();
    }
}

fn place(name: &str) -> Place {
    Place::File { path: format!("/{name}"), form: Form::Word }
}

fn set(name: &str, to: &str) -> Setting {
    Setting { place: place(name), to: to.to_owned() }
}

fn outcomes(undone: &[Undone]) -> Vec<&Outcome> {
    undone.iter().map(|undone| &undone.outcome).collect()
}

#[test]
fn it_is_taken_back_at_the_end_and_when_asked() {
    let fixture = Fixture::new();
    let changed = fixture.journal.change(&[set("a", "2"), set("b", "1")], "x").unwrap();
    assert_eq!((fixture.value("a"), changed.entries().len()), ("2".to_owned(), 1));
    assert_eq!(fixture.journal.undo_left_over(), [], "it is at work");
    assert_eq!(outcomes(&changed.undo()), [&Outcome::Restored]);
    assert_eq!(fixture.value("a"), "1");
    drop(fixture.journal.change(&[set("a", "2")], "x").unwrap());
    assert_eq!(fixture.value("a"), "1");
    assert_eq!(fixture.journal.entries(), []);
}

#[test]
fn what_somebody_else_changed_meanwhile_is_left_and_said() {
    let fixture = Fixture::new();
    let changed = fixture.journal.change(&[set("a", "2"), set("b", "2")], "x").unwrap();
    fixture.put("a", "3");
    let undone = changed.undo();
    let left = Outcome::Left { now: Some("3".to_owned()) };
    assert_eq!(outcomes(&undone), [&Outcome::Restored, &left]);
    assert!(undone[1].words().contains("it was set to 2, and something else has changed it to 3"));
    assert_eq!((fixture.value("a"), fixture.value("b")), ("3".to_owned(), "1".to_owned()));
}

#[test]
fn one_that_fails_leaves_nothing_changed() {
    let fixture = Fixture::new();
    let error = fixture.journal.change(&[set("a", "2"), set("none", "2")], "x").unwrap_err();
    assert_eq!(error.to_string(), "/none is not there");
    assert_eq!(fixture.value("a"), "1");
    assert_eq!(fixture.journal.entries(), []);
}

#[test]
fn a_second_one_waits_for_the_first() {
    let fixture = Fixture::new();
    let first = fixture.journal.change(&[set("a", "2")], "x").unwrap();
    let error = fixture.journal.change(&[set("a", "3")], "y").unwrap_err();
    assert!(matches!(error, RemedyError::Busy { .. }), "{error}");
    let other = fixture.journal.change(&[set("b", "3")], "y").unwrap();
    drop(first);
    assert_eq!((fixture.value("a"), fixture.value("b")), ("1".to_owned(), "3".to_owned()));
    drop(other);
    assert_eq!(fixture.value("b"), "1");
}

#[test]
fn what_stays_is_undone_by_name_however_often_it_was_changed() {
    let fixture = Fixture::new();
    for to in ["2", "3", "4"] {
        fixture.journal.change(&[set("a", to)], "x").unwrap().keep().unwrap();
    }
    assert_eq!(fixture.journal.undo_left_over(), []);
    assert_eq!(fixture.value("a"), "4");
    // Somebody is at work on top of it: what is below has to wait.
    let above = fixture.journal.change(&[set("a", "5")], "y").unwrap();
    drop(above);
    let undone = fixture.journal.undo_all();
    assert_eq!(outcomes(&undone), [&Outcome::Restored; 3]);
    assert_eq!(fixture.value("a"), "1");
    assert_eq!(fixture.journal.undo_all(), []);
}

#[test]
fn what_a_killed_process_left_is_taken_back_by_the_next() {
    let fixture = Fixture::new();
    // Killed before it did it, after, and after somebody else came.
    for (now, after) in [("1", "1"), ("2", "1"), ("9", "9")] {
        fixture.leave_over(&[("a", "1", "2")]);
        fixture.put("a", now);
        assert_eq!(fixture.journal.undo_left_over().len(), 1);
        assert_eq!(fixture.value("a"), after);
        assert_eq!(fixture.journal.undo_left_over(), []);
    }
    // The next one that changes the same finds what it was at first.
    fixture.leave_over(&[("a", "1", "2")]);
    fixture.put("a", "2");
    let changed = fixture.journal.change(&[set("a", "7")], "x").unwrap();
    assert_eq!(changed.entries()[0].old.as_deref(), Some("1"));
    drop(changed);
    assert_eq!(fixture.value("a"), "1");
}

#[test]
fn another_boot_has_undone_it() {
    let fixture = Fixture::new();
    let mut book = fixture.journal.open(true).unwrap();
    let value = |text: &str| Some(text.to_owned());
    let mut entry = Entry::new(place("a"), value("0"), value("1"), "x");
    "another".clone_into(&mut entry.boot);
    book.add(&[entry]).unwrap();
    drop(book);
    assert_eq!(fixture.journal.entries(), []);
    assert_eq!(outcomes(&fixture.journal.undo_left_over()), [&Outcome::Nothing]);
    assert_eq!(fixture.value("a"), "1");
}

#[test]
fn texts_outlive_a_boot() {
    let fixture = Fixture::new();
    let text = Place::Text { path: "/etc/sysctl.d/90-tardy.conf".to_owned() };
    let setting = Setting { place: text, to: "a = 1\n".to_owned() };
    fixture.journal.change(&[setting], "x").unwrap().keep().unwrap();
    let written = fixture.folder.path().join("etc/sysctl.d/90-tardy.conf");
    assert!(written.exists());
    let path = fixture.folder.path().join("var/lib/tardy/changes.jsonl");
    assert!(fs::metadata(path).unwrap().len() > 0);
    assert_eq!(outcomes(&fixture.journal.undo_all()), [&Outcome::Restored]);
    assert!(!written.exists());
}

/// The system has made of it at the next boot what it says.
#[test]
fn what_a_text_set_at_this_boot_is_put_back_with_it() {
    for (now, after) in [("2", "1"), ("1", "1"), ("9", "9")] {
        let fixture = Fixture::new();
        let text = Place::Text { path: "/etc/sysctl.d/90-tardy.conf".to_owned() };
        let text = Setting { place: text, to: "a = 2\n".to_owned() };
        fixture.journal.change(&[set("a", "2"), text], "x").unwrap().keep().unwrap();
        // The next boot.
        fs::remove_dir_all(fixture.folder.path().join("run")).unwrap();
        let mut book = fixture.journal.open(false).unwrap();
        let mut entry = book.lines[0].entry.clone();
        "another".clone_into(&mut entry.boot);
        book.mark(0, Mark::Done).unwrap();
        book.add(&[entry]).unwrap();
        book.mark(0, Mark::Stays).unwrap();
        drop(book);
        fixture.put("a", now);
        let undone = fixture.journal.undo_all();
        assert_eq!(fixture.value("a"), after, "{undone:?}");
        let is_left = undone.iter().any(|it| matches!(it.outcome, Outcome::Left { .. }));
        assert_eq!(is_left, after == "9", "{undone:?}");
        assert!(!fixture.folder.path().join("etc/sysctl.d/90-tardy.conf").exists());
        assert_eq!(fixture.journal.entries(), []);
    }
}

/// Whoever is killed while a text is written leaves a part of it beside.
#[test]
fn half_a_text_is_taken_away() {
    let fixture = Fixture::new();
    let text = Place::Text { path: "/etc/sysctl.d/90-tardy.conf".to_owned() };
    let setting = Setting { place: text, to: "a = 1\n".to_owned() };
    fixture.journal.change(&[setting], "x").unwrap().keep().unwrap();
    let folder = fixture.folder.path().join("etc/sysctl.d");
    fs::rename(folder.join("90-tardy.conf"), folder.join("90-tardy.tardy-new")).unwrap();
    assert_eq!(outcomes(&fixture.journal.undo_all()), [&Outcome::Nothing]);
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
}

#[test]
fn without_a_journal_nothing_is_changed() {
    let fixture = Fixture::new();
    fs::write(fixture.folder.path().join("run"), "a file where a folder should be").unwrap();
    let error = fixture.journal.change(&[set("a", "2")], "x").unwrap_err();
    assert!(matches!(error, RemedyError::Journal { .. }), "{error}");
    assert_eq!(fixture.value("a"), "1");
}

/// Somebody takes the journal away, or makes its disk read-only, while it is at work.
#[test]
fn what_no_journal_tells_of_any_more_is_taken_back_too() {
    let takes: [fn(&std::path::Path); 4] = [
        |run| fs::remove_dir_all(run).unwrap(),
        |run| fs::remove_file(run.join("tardy/changes.jsonl")).unwrap(),
        |run| fs::write(run.join("tardy/changes.jsonl"), "+\n").unwrap(),
        |run| {
            let path = run.join("tardy/changes.jsonl");
            fs::remove_file(&path).unwrap();
            fs::create_dir(path).unwrap();
        },
    ];
    for take in takes {
        let fixture = Fixture::new();
        let changed = fixture.journal.change(&[set("a", "2"), set("b", "2")], "x").unwrap();
        fixture.put("b", "3");
        take(&fixture.folder.path().join("run"));
        let left = Outcome::Left { now: Some("3".to_owned()) };
        assert_eq!(outcomes(&changed.undo()), [&left, &Outcome::Restored]);
        assert_eq!(fixture.value("a"), "1");
        drop(fixture.journal.change(&[set("a", "2")], "y"));
        assert_eq!(fixture.value("a"), "1");
    }
    // And what cannot be put back is told.
    let fixture = Fixture::new();
    let changed = fixture.journal.change(&[set("a", "2"), set("b", "2")], "x").unwrap();
    fs::remove_dir_all(fixture.folder.path().join("run")).unwrap();
    fs::remove_file(fixture.folder.path().join("a")).unwrap();
    fs::create_dir(fixture.folder.path().join("a")).unwrap();
    let undone = changed.undo();
    let [b, a] = &undone[..] else { panic!("{undone:?}") };
    assert_eq!(b.outcome, Outcome::Restored);
    assert!(matches!(a.outcome, Outcome::Failed { .. }), "{a:?}");
}

/// As the bandwidth of real-time tasks, which must not be longer than its period on the way either.
#[test]
fn a_place_that_is_changed_twice_ends_as_the_last_says_and_is_taken_back() {
    let fixture = Fixture::new();
    for last in ["3", "1"] {
        let settings = [set("a", "-1"), set("b", "2"), set("a", last)];
        let changed = fixture.journal.change(&settings, "x").unwrap();
        assert_eq!((fixture.value("a"), fixture.value("b")), (last.to_owned(), "2".to_owned()));
        assert_eq!(outcomes(&changed.undo()), [&Outcome::Restored; 3]);
        assert_eq!((fixture.value("a"), fixture.value("b")), ("1".to_owned(), "1".to_owned()));
    }
}

#[test]
fn lines_that_cannot_be_read_are_told() {
    let fixture = Fixture::new();
    assert!(fixture.journal.unreadable().is_empty());
    fixture.leave_over(&[("a", "1", "2")]);
    let path = fixture.journal.path(true);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"boot\"", "\"bxot\"", 1)).unwrap();
    assert_eq!(fixture.journal.unreadable(), [Unreadable { path, what: Damage::Lines(1) }]);
    assert!(fixture.journal.undo_all().is_empty());
    assert_eq!(fixture.journal.unreadable().len(), 1, "it is still there");
}

/// Something else in its place is told, waits for nothing, and keeps nothing of the other one.
#[test]
fn a_journal_that_is_no_file_is_told() {
    let fixture = Fixture::new();
    let path = fixture.journal.path(false);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let pipe: fn(&std::path::Path) = |path| {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    };
    fixture.leave_over(&[("a", "1", "2")]);
    fixture.put("a", "2");
    let makes: [fn(&std::path::Path); 3] = [
        pipe,
        |path| fs::create_dir(path).unwrap(),
        |path| std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
    ];
    for make in makes {
        make(&path);
        let [told] = &fixture.journal.unreadable()[..] else { panic!("one") };
        assert!(matches!(told.what, Damage::All { .. }) && told.path == path, "{told:?}");
        fs::remove_dir(&path).or_else(|_| fs::remove_file(&path)).unwrap();
    }
    pipe(&path);
    assert_eq!(outcomes(&fixture.journal.undo_all()), [&Outcome::Restored]);
    assert_eq!(fixture.value("a"), "1");
    // And in place of the lock of the other.
    fixture.leave_over(&[("a", "1", "2")]);
    let lock = fixture.journal.path(true).with_extension("lock");
    fs::remove_file(&lock).unwrap();
    pipe(&lock);
    assert_eq!(fixture.journal.unreadable().len(), 2);
}

/// What a damaged line names may be anything: nothing waits for what is no file, nothing is written through a link.
#[test]
fn a_place_is_a_file() {
    let fixture = Fixture::new();
    std::os::unix::fs::symlink("a", fixture.folder.path().join("link")).unwrap();
    let socket = fixture.folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for name in ["link", "socket"] {
        let error = fixture.journal.change(&[set(name, "2")], "a test").unwrap_err();
        assert!(error.to_string().contains("is no file"), "{error}");
    }
    assert_eq!(fixture.value("a"), "1");
}
