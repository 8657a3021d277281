//! A process that changes, keeps and undoes is killed at any moment: what it held is what it was, what it kept is in
//! the journal, and nothing else is changed.
#![allow(missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tardy_host::Root;
use tardy_remedy::{Journal, Place, Setting, Thread};

/// Tells the child where its journal is, and which thread it changes.
const WHERE: &str = "TARDY_TEST_KILLED_IN";
const WHOM: &str = "TARDY_TEST_KILLED_FOR";

/// How often it is killed.
const TIMES: usize = 200;

/// It lives at most so long, in µs, from when it has begun.
const LIFE_US_MAX: u64 = 20_000;

/// The places of the kernel's for a thread, and a text, with what they are set to.
fn settings(tid: u32, round: u32) -> Vec<Setting> {
    let thread = Thread::of(tid).expect("it runs");
    let text = Place::Text { path: "/etc/sysctl.d/90-tardy-test.conf".to_owned() };
    let setting = |place, to: String| Setting { place, to };
    vec![
        setting(Place::Affinity(thread.clone()), "0".to_owned()),
        setting(Place::Slack(thread.clone()), (7_000 + round).to_string()),
        setting(Place::Policy(thread), format!("batch:{}", 1 + round % 9)),
        setting(text, format!("a = {round}\n")),
    ]
}

/// What each place holds.
fn values(folder: &Path, tid: u32) -> Vec<Option<String>> {
    let root = Root::at(folder);
    settings(tid, 0).iter().map(|it| it.place.read(&root).expect("it can be read")).collect()
}

/// A process that sleeps until it is dropped.
struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The child: changes, undoes, keeps, undoes all, for ever.
#[test]
fn works_until_it_is_killed() {
    let Some(folder) = std::env::var_os(WHERE).map(PathBuf::from) else { return };
    let journal = Journal::at(Root::at(&folder));
    let whom = std::env::var(WHOM).expect("with the folder comes the thread");
    let whom: u32 = whom.parse().expect("a number");
    journal.undo_left_over();
    fs::write(folder.join("begun"), "").expect("it begins");
    for round in 0.. {
        let changed = journal.change(&settings(whom, round % 1_000), "a test");
        let changed = changed.expect("nobody else is at work");
        if round % 3 == 0 {
            changed.keep().expect("it can be written");
            journal.undo_all();
        } else {
            changed.undo();
        }
    }
}

#[test]
fn nothing_is_left_changed_by_whom_is_killed() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root changes threads of others");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let sleeper = Sleeper(Command::new("sleep").arg("1000").spawn().expect("sleep starts"));
    let whom = sleeper.0.id();
    let before = values(folder, whom);
    let own = std::env::current_exe().expect("this program");
    let mut random = fastrand::Rng::with_seed(7);
    let mut left = 0;
    for time in 0..TIMES {
        let _ = fs::remove_file(folder.join("begun"));
        let mut child = Command::new(&own)
            .args(["works_until_it_is_killed", "--exact"])
            .env(WHERE, folder)
            .env(WHOM, whom.to_string())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        while !folder.join("begun").exists() {
            assert_eq!(child.try_wait().expect("it is known"), None, "it works until it is killed");
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_micros(random.u64(0..LIFE_US_MAX)));
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        left += usize::from(values(folder, whom) != before);

        let journal = Journal::at(Root::at(folder));
        journal.undo_left_over();
        // What it had just kept stays, and is in the journal as that.
        let kept = journal.entries();
        assert!(kept.iter().all(|(_, stays)| *stays), "{time}: {kept:?}");
        if kept.is_empty() {
            assert_eq!(values(folder, whom), before, "{time}");
        }
        journal.undo_all();
        assert_eq!(values(folder, whom), before, "{time}");
        assert!(journal.entries().is_empty(), "{time}");
    }
    assert!(left > 0, "it was killed while something was changed at least once");
    println!("killed {TIMES} times, {left} of them while something was changed");
}
