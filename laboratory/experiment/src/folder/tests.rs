use super::*;
use crate::{Figure, Length, Series, SystemState};
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;
use tardy_stats::Counted;

fn run(rounds: u32) -> Run {
    Run {
        seed: 3,
        length: Length { rounds, block_ms: 10, warm_up_ms: 0 },
        kernel: "6.1".to_owned(),
        architecture: "x86_64".to_owned(),
        clock: "tsc".to_owned(),
        host: "here".to_owned(),
        cpus: 2,
        hz: Some(250),
        preemption: "none".to_owned(),
        settings: BTreeMap::from([("timer_migration".to_owned(), "1".to_owned())]),
        ..Run::default()
    }
}

fn block(slot: Slot) -> Block {
    let latencies = Counted::new([(slot.index as u64 + 5, 2), (1_000_000, 1)]);
    Block {
        index: slot.index,
        condition: slot.condition,
        round: slot.round,
        begun_unix_s: 1_700_000_000,
        length: Duration::from_millis(11),
        series: vec![Series { name: "cyclic-0 \"\u{e9}\"".to_owned(), latencies }],
        figures: vec![Figure::of("cyclic-0", "overruns", 0.5)],
        notes: vec!["not permitted".to_owned()],
        before: SystemState { cpu_ns: 1, ..SystemState::default() },
        after: SystemState { cpu_ns: 9, throttled: Some(1), ..SystemState::default() },
    }
}

/// A folder with `done` of its blocks, no longer open.
fn folder(path: &Path, done: usize) -> Vec<Block> {
    let experiment = Experiment::named("stacking").unwrap();
    let mut folder = Folder::create(path, &experiment, run(4)).unwrap();
    let blocks: Vec<Block> = folder.slots().into_iter().take(done).map(block).collect();
    for block in &blocks {
        folder.add(block.clone()).unwrap();
    }
    blocks
}

#[test]
fn what_is_kept_is_read_again_and_gone_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new");
    let blocks = folder(&path, 5);
    let read = Folder::open(&path).unwrap();
    assert_eq!(read.blocks(), blocks);
    assert_eq!(read.run(), &run(4));
    assert_eq!(read.notes, Vec::<String>::new());

    let mut again = Folder::resume(&path).unwrap();
    let slot = again.slots()[5];
    again.add(block(slot)).unwrap();
    drop(again);
    let results = Folder::open(&path).unwrap().into_results();
    assert_eq!((results.blocks.len(), results.planned), (6, 16));
    assert_eq!(results.notes, ["not permitted"]);
    assert!(Folder::open(&path).unwrap().add(block(slot)).is_err(), "opened to be read only");
}

#[test]
fn a_crash_costs_the_block_that_was_being_written_wherever_it_cuts() {
    let dir = tempfile::tempdir().unwrap();
    folder(dir.path(), 3);
    let path = dir.path().join(BLOCKS);
    let whole = fs::read(&path).unwrap();
    let ends: Vec<usize> = whole
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1)
        .collect();
    for cut in 0..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let read = Folder::open(dir.path()).unwrap();
        // A line that lacks nothing but its end is whole.
        let expected = ends.iter().filter(|end| **end <= cut + 1).count();
        assert_eq!(read.blocks().len(), expected, "{cut}");
        let is_torn = cut != 0 && !ends.iter().any(|end| [cut, cut + 1].contains(end));
        assert_eq!(read.notes.len(), usize::from(is_torn), "{cut}: {:?}", read.notes);
    }
    // Gone on with, the torn line stays apart from the next.
    fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    let mut again = Folder::resume(dir.path()).unwrap();
    assert_eq!(again.blocks().len(), 2);
    let slot = again.slots()[2];
    again.add(block(slot)).unwrap();
    drop(again);
    assert_eq!(Folder::open(dir.path()).unwrap().blocks().len(), 3);
}

#[test]
fn a_line_that_was_changed_is_left_out_and_named() {
    let dir = tempfile::tempdir().unwrap();
    folder(dir.path(), 3);
    let path = dir.path().join(BLOCKS);
    let text = fs::read_to_string(&path).unwrap();
    let second = text.lines().nth(1).unwrap();
    for (changed, said) in [
        (second.replacen("1000000", "2000000", 1), "its checksum does not fit"),
        ("{}".to_owned(), "missing field"),
        ("\u{0}\u{0}".to_owned(), "expected value"),
        (text.lines().next().unwrap().to_owned(), "repeats a block"),
    ] {
        fs::write(&path, text.replacen(second, &changed, 1)).unwrap();
        let read = Folder::open(dir.path()).unwrap();
        assert_eq!(read.blocks().len(), 2);
        assert!(read.notes[0].starts_with("Line 2 of blocks.jsonl"), "{:?}", read.notes);
        assert!(read.notes[0].contains(said), "{:?}", read.notes);
    }
}

#[test]
fn two_runs_do_not_write_to_one_folder_and_a_used_one_is_not_begun_in() {
    let dir = tempfile::tempdir().unwrap();
    let experiment = Experiment::named("stacking").unwrap();
    let first = Folder::create(dir.path(), &experiment, run(1)).unwrap();
    let error = Folder::resume(dir.path()).unwrap_err();
    assert!(matches!(error, ExperimentError::Busy { .. }), "{error}");
    drop(first);
    assert!(Folder::resume(dir.path()).is_ok());
    let error = Folder::create(dir.path(), &experiment, run(1)).unwrap_err();
    assert!(matches!(error, ExperimentError::NotEmpty { .. }), "{error}");
    let error = Folder::open(&dir.path().join("none")).unwrap_err();
    assert!(matches!(error, ExperimentError::Read { .. }), "{error}");
    fs::write(dir.path().join(RUN), "{\"schema\": 7}").unwrap();
    let error = Folder::open(dir.path()).unwrap_err();
    assert!(matches!(error, ExperimentError::Garbled { .. }), "{error}");
}

#[test]
fn settings_that_changed_are_told() {
    let run = run(1);
    assert_eq!(run.changed_settings(&run.settings), None);
    let mut now = run.settings.clone();
    now.insert("timer_migration".to_owned(), "0".to_owned());
    now.insert("nohz".to_owned(), "on".to_owned());
    let told = run.changed_settings(&now).unwrap();
    assert!(told.contains("nohz from unknown to on, timer_migration from 1 to 0"), "{told}");
}
