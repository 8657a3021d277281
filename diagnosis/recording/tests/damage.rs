//! A recording that was cut or damaged opens, yields what came before, and says where it ends.

mod synthetic;

use std::fs;
use std::path::Path;
use synthetic::{Item, defining_batch, numbered_batch, read_all};
use tardy_recording::{Flaw, Manifest, ManifestEnd, OpenError, Options, Recording, Writer};

/// A recording of one small segment with definitions between events; its content.
fn write(dir: &Path, compress: bool, seal: bool) -> Vec<Item> {
    let options = Options { compress, ..Options::default() };
    let mut writer = Writer::create_with(dir, Manifest::default(), options).unwrap();
    for from in [0, 2, 4] {
        writer.append(defining_batch(from)).unwrap();
    }
    writer.append(numbered_batch(6, 20)).unwrap();
    if seal {
        writer.seal(ManifestEnd::default()).unwrap();
    } else {
        drop(writer);
    }
    let (items, torn) = read_all(dir);
    assert_eq!(torn, None);
    items
}

/// Where frames begin in a segment file, and where it ends.
fn frame_starts(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![20];
    while let Some(head) = bytes.get(starts[starts.len() - 1]..).filter(|rest| !rest.is_empty()) {
        let len = u32::from_le_bytes(head[8..12].try_into().unwrap()) as usize;
        starts.push(starts[starts.len() - 1] + 24 + len);
    }
    starts
}

/// The start of the frame that holds byte `at`; 0 for the file header.
fn frame_of(starts: &[usize], at: usize) -> u64 {
    starts.iter().rev().find(|start| **start <= at).map_or(0, |start| *start as u64)
}

#[test]
fn cut_at_every_byte() {
    for (compress, seal) in [(false, false), (false, true), (true, true)] {
        let dir = tempfile::tempdir().unwrap();
        let whole = write(dir.path(), compress, seal);
        let segment = dir.path().join("events/000000.seg");
        let bytes = fs::read(&segment).unwrap();
        let starts = frame_starts(&bytes);
        assert!(starts.len() >= 7, "names, timers and events by turns: {starts:?}");
        let mut before = 0;
        for len in 0..bytes.len() {
            fs::write(&segment, &bytes[..len]).unwrap();
            let (items, torn) = read_all(dir.path());
            assert!(items.len() >= before && items.len() < whole.len(), "cut at {len}");
            before = items.len();
            assert_eq!(items, whole[..items.len()], "cut at {len}");
            if starts.contains(&len) && !seal {
                assert_eq!(torn, None, "a cut between frames does not show, at {len}");
            } else {
                let torn = torn.unwrap();
                assert_eq!(torn.byte, frame_of(&starts, len), "cut at {len}: {torn}");
                assert_eq!(torn.file, Path::new("events/000000.seg"));
            }
        }
    }
}

#[test]
fn every_byte_flipped() {
    for compress in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let whole = write(dir.path(), compress, true);
        let segment = dir.path().join("events/000000.seg");
        let bytes = fs::read(&segment).unwrap();
        let starts = frame_starts(&bytes);
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= flip;
                fs::write(&segment, &bytes).unwrap();
                let (items, torn) = read_all(dir.path());
                assert!(items.len() < whole.len() && items == whole[..items.len()]);
                assert_eq!(torn.unwrap().byte, frame_of(&starts, at), "byte {at} ^ {flip}");
            }
        }
    }
}

#[test]
fn a_missing_segment_ends_it_and_what_follows_is_not_mixed_in() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { compress: false, segment_bytes_max: 0, ..Options::default() };
    let mut writer = Writer::create_with(dir.path(), Manifest::default(), options).unwrap();
    for from in (0..90_000).step_by(30_000) {
        writer.append_waiting(numbered_batch(from, from + 30_000)).unwrap();
    }
    drop(writer);
    let (whole, _) = read_all(dir.path());
    fs::remove_file(dir.path().join("events/000001.seg")).unwrap();
    let (items, torn) = read_all(dir.path());
    assert!(!items.is_empty() && items.len() < whole.len() && items == whole[..items.len()]);
    let torn = torn.unwrap();
    assert_eq!((torn.file.to_str(), torn.byte), (Some("events/000001.seg"), 0));
    assert_eq!(torn.why, Flaw::Missing);

    fs::copy(dir.path().join("events/000002.seg"), dir.path().join("events/000001.seg")).unwrap();
    let (_, torn) = read_all(dir.path());
    assert_eq!(torn.unwrap().why, Flaw::OtherSegment { found: 2 });
}

#[test]
fn events_outlive_their_manifest() {
    let dir = tempfile::tempdir().unwrap();
    let whole = write(dir.path(), true, true);
    let manifest = dir.path().join("manifest.json");
    for garbled in [Some("{\"format_version\": 1, \"sou"), Some(""), None] {
        match garbled {
            Some(text) => fs::write(&manifest, text).unwrap(),
            None => fs::remove_file(&manifest).unwrap(),
        }
        let recording = Recording::open(dir.path()).unwrap();
        assert_eq!(recording.manifest().notes.len(), 1, "{:?}", recording.manifest());
        assert!(!recording.manifest().sealed);
        assert_eq!(read_all(dir.path()), (whole.clone(), None));
    }
}

#[test]
fn a_crash_between_manifest_and_events_leaves_an_empty_recording() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), true, false);
    fs::remove_dir_all(dir.path().join("events")).unwrap();
    let (items, torn) = read_all(dir.path());
    assert_eq!((items.len(), torn.unwrap().why), (0, Flaw::Missing));
}

#[test]
fn a_half_written_temporary_file_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let whole = write(dir.path(), true, true);
    fs::write(dir.path().join("events/000000.seg.tmp"), "TARDYSEG half").unwrap();
    fs::write(dir.path().join("manifest.json.tmp"), "{").unwrap();
    assert_eq!(read_all(dir.path()), (whole, None));
}

#[test]
fn a_newer_format_is_refused_in_so_many_words() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), true, true);
    let manifest = dir.path().join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"format_version\": 1", "\"format_version\": 9")).unwrap();
    let error = Recording::open(dir.path()).err().unwrap();
    assert!(matches!(error, OpenError::Manifest(_)) && error.to_string().contains("version 9"));

    fs::remove_file(&manifest).unwrap();
    let segment = dir.path().join("events/000000.seg");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[8] = 9;
    let crc = crc32c::crc32c(&bytes[..16]);
    bytes[16..20].copy_from_slice(&crc.to_le_bytes());
    fs::write(&segment, bytes).unwrap();
    let error = Recording::open(dir.path()).err().unwrap();
    assert!(matches!(error, OpenError::Newer { version: 9, .. }), "{error}");
}

/// Changes the header of frame `number` and makes its checksum good again.
fn forge(bytes: &mut [u8], number: usize, change: impl Fn(&mut [u8])) -> u64 {
    let starts = frame_starts(bytes);
    let frame = &mut bytes[starts[number]..starts[number + 1]];
    change(frame);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&frame[..20]), &frame[24..]);
    frame[20..24].copy_from_slice(&crc.to_le_bytes());
    starts[number] as u64
}

#[test]
fn a_kind_of_frame_that_is_not_known_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let whole = write(dir.path(), false, true);
    let segment = dir.path().join("events/000000.seg");
    let mut bytes = fs::read(&segment).unwrap();
    forge(&mut bytes, 1, |frame| frame[4] = 9);
    fs::write(&segment, bytes).unwrap();
    let (items, torn) = read_all(dir.path());
    assert!(matches!(whole[1], Item::Timer(_)));
    assert_eq!((&items[..1], &items[1..]), (&whole[..1], &whole[2..]));
    assert_eq!(torn, None);
}

type Change = fn(&mut [u8]);

#[test]
fn content_that_a_good_checksum_covers_is_not_trusted() {
    let changes: [(usize, Change, Flaw); 7] = [
        (0, |names| names[16] = 2, Flaw::Content),
        (0, |names| names[30] = 0xff, Flaw::Content),
        (1, |timers| timers[24 + 20] = 2, Flaw::Content),
        (2, |events| events[16] = 1, Flaw::Content),
        (2, |events| events[5] = 1, Flaw::Content),
        (2, |events| events[5] = 2, Flaw::Encoding(2)),
        (2, |events| events[12] += 1, Flaw::Lengths),
    ];
    for (number, change, why) in changes {
        let dir = tempfile::tempdir().unwrap();
        let whole = write(dir.path(), false, true);
        let segment = dir.path().join("events/000000.seg");
        let mut bytes = fs::read(&segment).unwrap();
        let start = forge(&mut bytes, number, change);
        fs::write(&segment, bytes).unwrap();
        let (items, torn) = read_all(dir.path());
        assert_eq!(items, whole[..number], "one entry per frame before");
        let torn = torn.unwrap();
        assert_eq!((torn.byte, torn.why), (start, why));
    }
}
