//! Every place where a process is started is in the docs.
#![allow(missing_docs)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The Rust files below a folder that are part of a program.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let (path, name) = (entry.path(), entry.file_name());
        let is_other = ["target", "tests", "examples", "benches"].iter().any(|it| name == *it);
        if path.is_dir() && !is_other {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") && name != "build.rs" {
            found.push(path);
        }
    }
}

#[test]
fn processes_are_started_where_the_docs_say() {
    let mut files = Vec::new();
    for house in ["diagnosis", "laboratory", "timers", "command"] {
        sources(&root().join(house), &mut files);
    }
    let starts = |text: &str| {
        // What tests do in a file of their own at its end is theirs.
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        ["Command::new(", "tardy_programs::command(", "tardy_programs::kept("]
            .iter()
            .any(|call| text.contains(call))
    };
    let started: BTreeSet<String> = files
        .iter()
        .filter(|file| starts(&fs::read_to_string(file).expect("a text")))
        .map(|file| file.strip_prefix(root()).expect("below").display().to_string())
        // Where it is defined how.
        .filter(|file| file != "diagnosis/programs/src/lib.rs")
        .collect();
    let page = fs::read_to_string(root().join("docs/reference/programs.md")).expect("the page");
    let told: BTreeSet<String> = page
        .split('`')
        .filter(|word| Path::new(word).extension().is_some_and(|it| it == "rs"))
        .map(str::to_owned)
        .collect();
    assert_eq!(started, told);
}

/// Whoever runs as another user has no terminal of root's, so that he pushes no keys into it.
#[test]
#[allow(clippy::print_stdout)] // a test says why it looked at nothing
fn another_users_command_has_a_session_of_its_own() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: to become another user takes root");
        return;
    }
    // As tardy starts it.
    let own = std::process::id().to_string();
    let said = Command::new(env!("CARGO_BIN_EXE_tardy"))
        .args(["tardy-keeper", &own, "65534,65534", "sh", "-c", "cat /proc/$$/stat"])
        .output()
        .expect("it starts");
    let stat = String::from_utf8_lossy(&said.stdout).into_owned();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let pid = stat.split(' ').next();
    // Behind the state and the parent: its group, its session and its terminal.
    assert_eq!((fields.get(3).copied(), fields.get(4).copied()), (pid, Some("0")), "{stat}");
}
