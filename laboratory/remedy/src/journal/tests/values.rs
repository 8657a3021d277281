//! What the kernel changes along with what is set is put back too.

use super::*;
use rustix::process::{getpriority_process, setpriority_process};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use tardy_thread_policy::{Attributes, Policy, attributes, set_attributes};

struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A thread is made another and gets all of it back.
#[test]
fn a_policy_comes_back_with_all_that_the_kernel_forgets() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root changes threads of others");
        return;
    }
    let fixture = Fixture::new();
    let sleeper = Sleeper(Command::new("sleep").arg("1000").spawn().unwrap());
    let tid = sleeper.0.id();
    let pid = rustix::process::Pid::from_raw(tid.cast_signed());
    let place = Place::Policy(Thread::of(tid).unwrap());
    let slice_ns = 7_000_000;
    let all = [
        Attributes { slice_ns, ..Attributes::of(Policy::Other { nice: 3 }) },
        Attributes { slice_ns, resets_on_fork: true, ..Attributes::of(Policy::Batch { nice: 0 }) },
        Attributes::of(Policy::Other { nice: 0 }),
        Attributes { resets_on_fork: true, ..Attributes::of(Policy::Idle) },
        Attributes::of(Policy::Idle),
        Attributes { resets_on_fork: true, ..Attributes::of(Policy::Fifo { prio: 3 }) },
        Attributes::of(Policy::Rr { prio: 3 }),
    ];
    for before in all {
        // What an idle or real-time thread has of this was given to it before.
        let slice_ns = if before.policy == Policy::Idle { slice_ns } else { 0 };
        let ordinary = Attributes { slice_ns, ..Attributes::of(Policy::Other { nice: 0 }) };
        set_attributes(tid, &ordinary).unwrap();
        if set_attributes(tid, &before).is_err() {
            println!("skipped: {before:?} is not to be had here");
            continue;
        }
        let is_ordinary = matches!(before.policy, Policy::Other { .. } | Policy::Batch { .. });
        if !is_ordinary {
            setpriority_process(pid, 5).unwrap();
        }
        let has = || {
            (
                attributes(tid).unwrap(),
                getpriority_process(pid).unwrap(),
                place.read(&Root::system()).unwrap(),
            )
        };
        let before = has();
        for to in ["other:-2", "batch:1", "idle", "fifo:2"] {
            let setting = Setting { place: place.clone(), to: to.to_owned() };
            match fixture.journal.change(&[setting], "x") {
                Ok(changed) => drop(changed),
                Err(error) => println!("skipped: {to}: {error}"),
            }
            assert_eq!(has(), before, "{to}");
        }
    }
}

/// It sleeps as somebody who may not choose a real-time policy.
fn unprivileged() -> Sleeper {
    let mut command = Command::new("sleep");
    Sleeper(command.arg("1000").uid(65_534).gid(65_534).current_dir("/").spawn().unwrap())
}

fn policy_of(sleeper: &Sleeper, to: &str) -> Setting {
    Setting { place: Place::Policy(Thread::of(sleeper.0.id()).unwrap()), to: to.to_owned() }
}

/// Whoever was given a policy may choose a lower one, and would keep what it could never have got by itself.
#[test]
fn what_a_thread_made_of_its_policy_is_taken_back_where_it_could_not_have_got_it() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root changes threads of others");
        return;
    }
    let fixture = Fixture::new();
    let cases = [
        ("fifo:50", "fifo:49", 0, true),
        ("fifo:50", "rr:50", 0, true),
        ("fifo:50", "fifo:51", 0, false),
        ("fifo:50", "fifo:49", 49, false),
        ("fifo:50", "other:3", 0, false),
        ("other:-5", "other:-3", 0, true),
        ("other:-5", "batch:-5", 0, true),
        ("other:-5", "other:-6", 0, false),
        ("other:-5", "idle", 0, false),
    ];
    for (given, made, limit, is_taken_back) in cases {
        let mut sleeper = unprivileged();
        let id = sleeper.0.id();
        let pid = rustix::process::Pid::from_raw(id.cast_signed());
        let limits = rustix::process::Rlimit { current: Some(0), maximum: Some(limit) };
        let limited = || rustix::process::prlimit(pid, rustix::process::Resource::Rtprio, limits);
        if limit > 0 && limited().is_err() {
            println!("skipped: limits of others cannot be raised here");
            continue;
        }
        let before = attributes(id).unwrap();
        let Ok(changed) = fixture.journal.change(&[policy_of(&sleeper, given)], "x") else {
            println!("skipped: {given} is not to be had here");
            continue;
        };
        let wanted = Attributes::of(made.parse().unwrap());
        set_attributes(id, &Attributes { resets_on_fork: given.starts_with("fifo"), ..wanted })
            .unwrap();
        let undone = changed.undo();
        let is_back = attributes(id).unwrap() == before;
        assert_eq!(is_back, is_taken_back, "{given} {made} {limit}: {undone:?}");
        assert_eq!(matches!(undone[0].outcome, Outcome::Left { .. }), !is_taken_back, "{made}");
        let _ = sleeper.0.kill();
    }
    // What root's own threads choose is theirs.
    let sleeper = Sleeper(Command::new("sleep").arg("1000").spawn().unwrap());
    let Ok(changed) = fixture.journal.change(&[policy_of(&sleeper, "fifo:50")], "x") else {
        return;
    };
    set_attributes(sleeper.0.id(), &Attributes::of(Policy::Fifo { prio: 49 })).unwrap();
    assert!(matches!(changed.undo()[0].outcome, Outcome::Left { .. }));
}

/// A thread that is an ordinary one again by itself keeps nothing of what was tried either.
#[test]
fn who_was_ordinary_again_has_children_as_before() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root changes threads of others");
        return;
    }
    let fixture = Fixture::new();
    let sleeper = unprivileged();
    let before = attributes(sleeper.0.id()).unwrap();
    let Ok(changed) = fixture.journal.change(&[policy_of(&sleeper, "fifo:50")], "x") else {
        println!("skipped: no real-time policy is to be had here");
        return;
    };
    assert!(attributes(sleeper.0.id()).unwrap().resets_on_fork);
    let again = Attributes { resets_on_fork: true, ..before };
    set_attributes(sleeper.0.id(), &again).unwrap();
    assert_eq!(outcomes(&changed.undo()), [&Outcome::Restored]);
    assert_eq!(attributes(sleeper.0.id()).unwrap(), before);
    // Where it stays, children are to have it.
    fixture.journal.change_and_keep(&[policy_of(&sleeper, "fifo:50")], "x").unwrap();
    assert!(!attributes(sleeper.0.id()).unwrap().resets_on_fork);
    fixture.journal.undo_all();
    assert_eq!(attributes(sleeper.0.id()).unwrap(), before);
}

/// A file that the kernel changes with another.
fn beside(name: &str, to: &str) -> Setting {
    let place = Place::File { path: format!("/{name}"), form: Form::Beside };
    Setting { place, to: to.to_owned() }
}

#[test]
fn what_the_kernel_changes_beside_is_put_back_unless_somebody_else_changed_it() {
    let settings = [beside("b", "1"), set("a", "2")];
    for (by_kernel, by_others, after) in [("1", None, "1"), ("5", None, "1"), ("5", Some("9"), "9")]
    {
        let fixture = Fixture::new();
        let changed = fixture.journal.change(&settings, "x").unwrap();
        // As it is where the kernel does it with the write to the other.
        let mut entries = changed.entries().to_vec();
        fixture.put("b", by_kernel);
        if by_kernel != "1" {
            let mut book = fixture.journal.open(true).unwrap();
            let after = Entry { new: Some(by_kernel.to_owned()), ..entries[0].clone() };
            book.add(std::slice::from_ref(&after)).unwrap();
            entries.push(after);
        }
        if let Some(value) = by_others {
            fixture.put("b", value);
        }
        let mut changed = changed;
        changed.entries = Some(entries);
        let undone = changed.undo();
        let is_left = undone.iter().any(|it| matches!(it.outcome, Outcome::Left { .. }));
        assert_eq!(is_left, by_others.is_some(), "{undone:?}");
        assert_eq!((fixture.value("a"), fixture.value("b").as_str()), ("1".to_owned(), after));
        assert_eq!(fixture.journal.entries(), []);
    }
    // Where nothing is changed, there is nothing beside.
    let fixture = Fixture::new();
    let changed = fixture.journal.change(&[beside("b", "1"), set("a", "1")], "x").unwrap();
    assert_eq!(changed.entries(), []);
}
