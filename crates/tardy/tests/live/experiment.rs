//! Does an experiment survive its end, however that comes, and go on?

use crate::machine::{Machine, eventually};
use crate::program::{Running, Said, tardy};
use std::fs;
use std::path::Path;

const TEXT: &str = r#"
name = "short"
title = "Short"
question = "Does it go on?"
table = "min-avg-max"
measure = { kind = "cyclic", interval = "1ms", threads = 1 }
default = { rounds = 4, block-ms = 300, warm-up-ms = 20 }
full = { rounds = 4, block-ms = 300, warm-up-ms = 20 }
[[condition]]
name = "idle"
[[condition]]
name = "storm"
load = "storm:5"
"#;

fn lines(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("blocks.jsonl")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// A run in its second half.
fn begun(dir: &Path) -> Running {
    let file = dir.join("short.toml");
    fs::write(&file, TEXT).unwrap();
    let mut command = tardy(["experiment", "-q", "-o"]);
    let mut running = Running::start(command.arg(dir.join("run")).arg(&file));
    eventually("three blocks are done", || {
        assert!(running.has_ended().is_none(), "it ended by itself");
        lines(&dir.join("run")).len() >= 3
    });
    running
}

fn goes_on(folder: &Path) {
    let before = lines(folder);
    assert!((3..8).contains(&before.len()), "{}", before.len());
    Said::by(tardy(["experiment", "-q", "--resume"]).arg(folder)).expect(0);
    let after = lines(folder);
    assert_eq!(after[..before.len()], before, "what was there has changed");
    assert_eq!(after.len(), 8);
}

#[test]
fn a_killed_experiment_goes_on_with_the_blocks_that_are_missing() {
    let _machine = Machine::alone();
    let dir = tempfile::tempdir().unwrap();
    begun(dir.path()).kill();
    goes_on(&dir.path().join("run"));
}

#[test]
fn an_interrupted_one_ends_well_and_goes_on() {
    let _machine = Machine::alone();
    let dir = tempfile::tempdir().unwrap();
    begun(dir.path()).interrupt().expect(0);
    goes_on(&dir.path().join("run"));
}

#[test]
fn a_folder_that_is_none_and_a_name_that_is_none_are_told() {
    let _machine = Machine::alone();
    let dir = tempfile::tempdir().unwrap();
    for (arguments, said) in [
        (vec!["experiment", "--resume", "/nowhere/at/all"], "could not"),
        (vec!["experiment", "stakcing"], "there are: stacking"),
        (vec!["experiment", "sleep", "--rounds", "0"], "rounds is 0"),
        (vec!["experiment", "sleep", "-o", dir.path().to_str().unwrap()], "is not empty"),
    ] {
        fs::write(dir.path().join("something"), "").unwrap();
        let told = Said::by(&mut tardy(&arguments)).expect(1).err;
        assert!(told.contains(said), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}
