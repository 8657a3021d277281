//! Small traces of one story each, with what is true of them beside it.
//!
//! A file under `traces/` is a text of ftrace's, as the kernel writes it. What its leading remarks
//! expect is written by hand, from what the events tell a person who knows the kernel: never what the
//! explainer happened to say. `expected.rs` says how it is written. `victim` (900) is the thread
//! that is explained.
#![allow(missing_docs)]

mod bounds;
mod dialect;
mod expected;
mod explained;
mod moved;
mod not_yet;

use expected::Expected;
use explained::Explained;
use not_yet::NOT_YET;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/traces")
}

/// Every case: its name and its text, by name.
fn cases() -> Vec<(String, String)> {
    let files = std::fs::read_dir(folder()).expect("the folder of cases");
    let mut cases: Vec<(String, String)> = files
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "txt"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).expect("a text");
            (name, text)
        })
        .collect();
    cases.sort();
    cases
}

/// What does not hold of a case; empty where all does.
fn disagreements(name: &str, text: &str) -> Vec<String> {
    let expected = Expected::of(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let explained = Explained::of(text);
    let mut wrong = expected.held_against(&explained);
    if let Some(other) = expected.same_as {
        let path = folder().join(format!("{other}.txt"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{name}: no {other}"));
        if Explained::of(&text).balances() != explained.balances() {
            wrong.push(format!("other segments than {other}"));
        }
    }
    if !wrong.is_empty() {
        wrong.push(format!("all that was said:\n{explained}"));
    }
    wrong
}

#[test]
fn what_is_told_is_what_is_true() {
    let mut report = String::new();
    for (name, text) in cases() {
        let wrong = disagreements(&name, &text);
        let is_known = NOT_YET.iter().any(|(known, _)| *known == name);
        if is_known && wrong.is_empty() {
            let _ = writeln!(report, "{name}: holds now; strike it off NOT_YET\n");
        } else if !is_known && !wrong.is_empty() {
            let _ = writeln!(report, "{name}:\n  {}\n", wrong.join("\n  "));
        }
    }
    for (known, _) in NOT_YET {
        if !cases().iter().any(|(name, _)| name == known) {
            let _ = writeln!(report, "{known}: stands in NOT_YET and is no case\n");
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

/// The cases that do not hold yet, with what is wrong: `cargo test --test cases -- --ignored --nocapture`.
#[test]
#[ignore = "shows what does not hold yet"]
fn what_is_not_true_yet() {
    for (name, text) in cases() {
        let wrong = disagreements(&name, &text);
        if !wrong.is_empty() {
            println!("{name}:\n  {}\n", wrong.join("\n  "));
        }
    }
}

/// Who wrote a text down must not matter: the same story in the columns of `trace-cmd report`.
#[test]
fn other_dialects_tell_the_same() {
    let mut report = String::new();
    for (name, text) in cases() {
        let as_is = Explained::of(&text).to_string();
        for (dialect, write) in dialect::DIALECTS {
            let other = Explained::of(&write(&text)).to_string();
            if other != as_is {
                let _ = writeln!(report, "{name} as {dialect}:\n{other}\nas it is:\n{as_is}");
            }
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

/// Neither may the time and the place.
#[test]
fn other_times_and_cpus_tell_the_same() {
    let mut report = String::new();
    for (name, text) in cases() {
        let as_is = Explained::of(&text).balances();
        let elsewhere =
            moved::told_of_other_cpus(&Explained::of(&moved::other_cpus(&text)).balances());
        let later = moved::told_earlier(&Explained::of(&moved::later(&text)).balances());
        for (how, other) in [("on other CPUs", elsewhere), ("later", later)] {
            if other != as_is {
                let _ = writeln!(report, "{name} {how}:\n{other}\nas it is:\n{as_is}");
            }
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

/// Cases in which a system call tells what the slack is, that the thread gave the CPU away, or of a lock; or when its
/// CPU was in no interrupt.
const TOLD_BY_CALLS: &[&str] = &[
    "clock_set_back_between_calls",
    "deadline_budget_given_away",
    "lock_held_through_a_chain",
    "plain_mutex_of_a_sleeper",
    "poll_slack",
    "poll_slack_of_nice_thread",
    "poll_slack_short_timeout",
    "sleep_slack",
    "stopped_in_a_call_for_a_lock",
    "yielded",
];

/// System calls tell more of a wakeup; they make none, end none, and take none away but what is none.
#[test]
fn without_system_calls_the_same_is_told() {
    let mut report = String::new();
    for (name, text) in cases() {
        let (all, fewer) = (Explained::of(&text), Explained::of(&moved::without_calls(&text)));
        let (all, fewer) = (all.balances(), fewer.balances());
        if all != fewer && !TOLD_BY_CALLS.contains(&name.as_str()) {
            let _ = writeln!(report, "{name} without calls:\n{fewer}\nwith:\n{all}");
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

/// That a thread is in its queue is no news where nobody moves.
#[test]
fn with_wakeups_beside_wakings_the_same_is_told() {
    let mut report = String::new();
    for (name, text) in cases() {
        let Some(more) = moved::with_wakeups(&text) else { continue };
        let (as_is, more) = (Explained::of(&text).balances(), Explained::of(&more).balances());
        // Without wakeups a thread may have moved unseen, and less can be said.
        if as_is != more && name != "migration_unseen" {
            let _ = writeln!(report, "{name} with wakeups:\n{more}\nwithout:\n{as_is}");
        }
    }
    assert!(report.is_empty(), "\n{report}");
}
