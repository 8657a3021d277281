//! What is written is read, in the same order, plain and compressed.

mod synthetic;

use proptest::prelude::*;
use std::fs;
use synthetic::{defining_batch, items, numbered, numbered_batch, read_all};
use tardy_model::event::Loss;
use tardy_model::{Batch, CpuId, Event, NameId, TaskId, TimerClass, TimerDef, TimerId};
use tardy_recording::{
    Manifest, ManifestEnd, OpenError, Options, Recording, Totals, WriteError, Writer,
};

fn batches() -> impl Strategy<Value = Vec<Batch>> {
    let name = (any::<u32>(), ".{0,40}").prop_map(|(id, name)| (NameId(id), name));
    let timer =
        (any::<[u32; 3]>(), any::<u64>(), any::<bool>()).prop_map(|(ids, address, list)| {
            let class = if list { TimerClass::TimerList } else { TimerClass::Hrtimer };
            let [id, function, owner] = ids;
            let (id, function, owner) = (TimerId(id), NameId(function), TaskId(owner));
            TimerDef { id, address, function, owner, class }
        });
    let event = prop::array::uniform32(any::<u8>()).prop_map(|bytes| Event::from_bytes(&bytes));
    let batch = (
        prop::collection::vec(name, 0..4),
        prop::collection::vec(timer, 0..4),
        prop::collection::vec(event, 0..50),
    )
        .prop_map(|(names, timers, events)| Batch { names, timers, events });
    prop::collection::vec(batch, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_batches(batches in batches(), compress: bool) {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { compress, ..Options::default() };
        let mut writer = Writer::create_with(dir.path(), Manifest::default(), options).unwrap();
        for batch in &batches {
            prop_assert!(writer.append(batch.clone()).unwrap().is_empty());
        }
        let sealed = writer.seal(ManifestEnd::default()).unwrap();
        let expected: Vec<_> = batches.iter().flat_map(items).collect();
        let (read, torn) = read_all(dir.path());
        prop_assert_eq!(torn, None);
        prop_assert_eq!(&read, &expected);
        let events = batches.iter().map(|batch| batch.events.len() as u64).sum::<u64>();
        prop_assert_eq!((sealed.totals.events, sealed.lost_by_queue), (events, 0));
    }
}

#[test]
fn many_segments_and_exact_totals() {
    for compress in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { compress, segment_bytes_max: 0, ..Options::default() };
        let mut writer = Writer::create_with(dir.path(), Manifest::default(), options).unwrap();
        let mut expected = Vec::new();
        for from in (0..200_000).step_by(10_000) {
            let batch = numbered_batch(from, from + 10_000);
            expected.extend(items(&batch));
            writer.append_waiting(batch).unwrap();
        }
        let loss = Loss { since_ns: 5, count: 12 };
        let dropped = Event::new(30_000_000, CpuId(0), TaskId(0), loss.into());
        let last = Batch { events: vec![dropped], ..Batch::default() };
        expected.extend(items(&last));
        writer.append_waiting(last).unwrap();
        let sealed = writer.seal(ManifestEnd::default()).unwrap();

        let events = dir.path().join("events");
        let sizes: Vec<u64> =
            fs::read_dir(&events).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).collect();
        assert!(sizes.len() >= 6, "6.4 MB in segments of 1 MiB: {sizes:?}");
        let totals = Totals {
            events: 200_001,
            lost: 12,
            first_ns: numbered(0).time_ns,
            last_ns: 30_000_000,
            bytes: sizes.iter().sum(),
        };
        assert_eq!(sealed.totals, totals);
        let manifest = Manifest::read(dir.path()).unwrap();
        assert!(manifest.sealed && manifest.notes.is_empty(), "{manifest:?}");
        assert_eq!(manifest.totals, Some(totals));
        let (read, torn) = read_all(dir.path());
        assert!(read == expected && torn.is_none(), "compress {compress}: {torn:?}");
    }
}

#[test]
fn a_writer_that_is_dropped_leaves_all_that_was_appended() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(dir.path(), Manifest::default()).unwrap();
    assert_ne!(writer.thread_id(), 0);
    writer.append(defining_batch(0)).unwrap();
    drop(writer);
    let (read, torn) = read_all(dir.path());
    assert_eq!((read, torn), (items(&defining_batch(0)).collect(), None));
    assert!(!Recording::open(dir.path()).unwrap().manifest().sealed);
}

#[test]
fn a_recording_is_read_twice() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(dir.path(), Manifest::default()).unwrap();
    writer.append(numbered_batch(0, 5)).unwrap();
    writer.seal(ManifestEnd::default()).unwrap();
    let mut recording = Recording::open(dir.path()).unwrap();
    for _ in 0..2 {
        let mut batch = Batch::default();
        assert!(recording.read(&mut batch).unwrap());
        assert_eq!(batch.events, numbered_batch(0, 5).events);
        recording.rewind().unwrap();
    }
}

#[test]
fn a_folder_in_use_is_refused_and_another_one_is_no_recording() {
    let dir = tempfile::tempdir().unwrap();
    let missing = Recording::open(&dir.path().join("nowhere")).err().unwrap();
    assert!(matches!(missing, OpenError::Folder { .. }), "{missing}");
    let empty = Recording::open(dir.path()).err().unwrap();
    assert!(matches!(empty, OpenError::NoRecording { .. }), "{empty}");
    fs::write(dir.path().join("thesis.tex"), "precious").unwrap();
    let refused = Writer::create(dir.path(), Manifest::default()).err().unwrap();
    assert!(matches!(refused, WriteError::Exists { .. }), "{refused}");
}
