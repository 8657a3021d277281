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
    for (arguments, status, said) in [
        (vec!["experiment", "--resume", "/nowhere/at/all"], 1, "could not"),
        (vec!["experiment", "stakcing"], 2, "there are: stacking"),
        (vec!["experiment", "sleep", "--rounds", "0"], 1, "rounds is 0"),
        (vec!["experiment", "sleep", "-o", dir.path().to_str().unwrap()], 1, "is not empty"),
    ] {
        fs::write(dir.path().join("something"), "").unwrap();
        let told = Said::by(&mut tardy(&arguments)).expect(status).err;
        assert!(told.contains(said), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}

/// The policy of the first `ksoftirqd`: field 41 of `proc_pid_stat(5)`.
fn ksoftirqd_policy() -> Option<String> {
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let mut stats = processes.filter_map(|one| fs::read_to_string(one.path().join("stat")).ok());
    let stat = stats.find(|stat| stat.contains("(ksoftirqd/0)"))?;
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split_whitespace().nth(41 - 3).map(str::to_owned)
}

#[test]
fn kernel_threads_that_a_killed_one_changed_are_put_back_at_the_next_start() {
    let _machine = Machine::alone();
    let Some(before) = ksoftirqd_policy().filter(|_| rustix::process::geteuid().is_root()) else {
        println!("skipped: it takes root, and kernel threads in /proc");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let changed = "kernel-threads = { ksoftirqd = \"batch\" }\n[[condition]]";
    // So long that it is killed in a block.
    let text = TEXT.replacen("[[condition]]", changed, 1).replace("ms = 300", "ms = 600000");
    let mut command = tardy(["experiment", "-q", "-o"]);
    command.arg(dir.path().join("one")).arg(file("batch.toml", &text));
    let mut running = Running::start(&mut command);
    eventually("its policy is changed", || {
        assert!(running.has_ended().is_none(), "it ended by itself");
        ksoftirqd_policy().is_some_and(|policy| policy == "3")
    });
    running.kill();
    assert_eq!(ksoftirqd_policy().as_deref(), Some("3"), "nobody has put it back");
    let two = dir.path().join("two");
    let mut next = tardy(["experiment", "-q", "--rounds", "1", "-o"]);
    let said = Said::by(next.arg(&two).arg(file("short.toml", TEXT)));
    assert!(said.err.contains("a previous tardy that was killed had set"), "{}", said.err);
    said.expect(0);
    assert_eq!(ksoftirqd_policy().as_deref(), Some(before.as_str()));
}
