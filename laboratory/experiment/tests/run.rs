//! Experiments that really run: short blocks of cyclic threads at whatever policy is permitted.

use std::cell::Cell;
use std::path::Path;
use tardy_experiment::{Ended, Experiment, Fit, Folder, Runner};
use tardy_host::Host;

const TEXT: &str = r#"
name = "short"
title = "Short"
question = "Does it run?"
table = "min-avg-max"
measure = { kind = "cyclic", interval = "1ms", threads = 2 }
default = { rounds = 3, block-ms = 40, warm-up-ms = 5 }
full = { rounds = 30, block-ms = 40, warm-up-ms = 5 }
[[condition]]
name = "idle"
[[condition]]
name = "storm"
load = "storm:3"
measure = { threads = 1 }
[[condition]]
name = "huge"
needs = ["cpus-4096"]
"#;

fn experiment(dir: &Path) -> Experiment {
    let path = dir.join("short.toml");
    std::fs::write(&path, TEXT).unwrap();
    Experiment::read(&path).unwrap()
}

#[test]
fn a_run_that_is_ended_goes_on_with_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let experiment = experiment(dir.path());
    let host = Host::probe();
    let path = dir.path().join("run");
    let mut runner = Runner::begin(&path, &experiment, false, 5, &host).unwrap();
    assert!(runner.left().as_millis() == 6 * 45);
    // Ended in the middle of the third block.
    let told = Cell::new(false);
    let is_over = || told.get();
    let seen = Cell::new(0);
    let ended = runner.run(None, &is_over, |progress| {
        seen.set(progress.done);
        told.set(progress.done == 2);
    });
    assert_eq!((ended.unwrap(), seen.get()), (Ended::Early, 2));
    let before = runner.folder().blocks().to_vec();
    drop(runner);
    assert_eq!(Folder::open(&path).unwrap().blocks(), before);

    let mut runner = Runner::resume(&path, &host).unwrap();
    let mut first = None;
    let ended = runner.run(None, &|| false, |progress| {
        first.get_or_insert((progress.done, progress.planned));
        assert!(progress.worst_ns > 0);
    });
    assert_eq!((ended.unwrap(), first), (Ended::Complete, Some((2, 6))));
    drop(runner);
    let results = Folder::open(&path).unwrap().into_results();
    assert_eq!(results.blocks[..2], before);
    assert_eq!((results.blocks.len(), results.planned), (6, 6));
    assert_eq!(results.run.left_out[0].0, "huge");
    assert!(results.run.left_out[0].1.contains("4096 CPUs"));
    for block in &results.blocks {
        let threads = if experiment.conditions[block.condition].name == "storm" { 1 } else { 2 };
        assert_eq!(block.series.len(), threads);
        assert!(block.series.iter().all(|series| series.latencies.count() > 0));
        assert!(block.after.cpu_ns >= block.before.cpu_ns);
    }
    // Whatever the machine was like, the verdict has its reasons.
    assert_eq!(results.fitness.fit == Fit::Fit, results.fitness.why.is_empty());
}

#[test]
fn a_block_that_cannot_be_measured_ends_the_run_and_says_where_it_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut experiment = experiment(dir.path());
    // The kernel has no CPU of this number for anybody.
    experiment.measure.insert("cpus".to_owned(), "8000".into());
    let path = dir.path().join("run");
    let host = Host::probe();
    let mut runner = Runner::begin(&path, &experiment, false, 5, &host).unwrap();
    let error = runner.run(None, &|| false, |_| {}).unwrap_err().to_string();
    assert!(error.contains("block 0") && error.contains("CPU 8000"), "{error}");
    assert!(error.contains("--resume"), "{error}");
}

#[test]
fn nothing_is_begun_where_nothing_can_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut experiment = experiment(dir.path());
    experiment.conditions.drain(..2);
    let path = dir.path().join("run");
    let Err(error) = Runner::begin(&path, &experiment, false, 5, &Host::probe()) else {
        panic!("it began");
    };
    assert!(error.to_string().contains("huge: it needs 4096 CPUs"), "{error}");
    assert!(!path.exists());
}
