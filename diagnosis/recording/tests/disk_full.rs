//! The disk fills up while recording: one clear error, and what was written can be read. The disk is
//! a small tmpfs in a mount namespace of its own, where this test's own binary is started again.

mod synthetic;

use std::path::Path;
use std::process::Command;
use std::{fs, thread, time::Duration};
use synthetic::{Item, number, numbered_batch, read_all};
use tardy_recording::tables::{SEGMENTS_FILE, SegmentRow, TableWriter, WakeupRow};
use tardy_recording::{Manifest, ManifestEnd, Options, WriteError, Writer};

const FOLDER: &str = "TARDY_TEST_SMALL_DISK";

fn in_a_small_disk(mount_point: &Path, program: &[&str]) -> std::process::Output {
    Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c"])
        .arg("mount -t tmpfs -o size=3m tmpfs \"$0\" && exec \"$@\"")
        .arg(mount_point)
        .args(program)
        .env(FOLDER, mount_point)
        .output()
        .unwrap_or_else(|error| panic!("cannot start unshare (util-linux): {error}"))
}

#[test]
fn a_full_disk_keeps_what_was_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let probe = in_a_small_disk(dir.path(), &["true"]);
    if !probe.status.success() {
        let why = String::from_utf8_lossy(&probe.stderr);
        println!("skipped: no mount namespace or tmpfs here: {}", why.trim());
        return;
    }
    let own = std::env::current_exe().unwrap();
    for part in
        ["fills_while_recording", "fills_before_compressing", "fills_while_tables_are_written"]
    {
        let program = [own.to_str().unwrap(), "--exact", part, "--ignored", "--nocapture"];
        let output = in_a_small_disk(dir.path(), &program);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{part}: {output:?}");
    }
}

/// Events that a recording yields; they must be the first ones, without a gap.
fn gapless_events(folder: &Path) -> u64 {
    let (items, torn) = read_all(folder);
    assert_eq!(torn, None);
    for (at, item) in items.iter().enumerate() {
        let Item::Event(event) = item else { panic!("only events were appended: {item:?}") };
        assert_eq!(number(event), Some(at as u64));
    }
    items.len() as u64
}

#[test]
#[ignore = "the part in the small disk; the test above starts it"]
fn fills_while_recording() {
    let Ok(disk) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&disk).join("recording");
    let mut writer = Writer::create(&folder, Manifest::default()).unwrap();
    let mut from = 0;
    let error = loop {
        // 3 MiB hold 98 304 events at most.
        assert!(from < 1_000_000, "the disk is full and nobody says so");
        match writer.append(numbered_batch(from, from + 5000)) {
            Ok(_) => thread::sleep(Duration::from_millis(10)),
            Err(error) => break error,
        }
        from += 5000;
    };
    let text = error.to_string();
    assert!(matches!(error, WriteError::Write { .. }), "{error:?}");
    assert!(text.contains("events/000000.seg") && text.contains("free some space"), "{text}");
    let again = writer.append(numbered_batch(0, 1)).unwrap_err();
    assert_eq!(again.to_string(), text, "every later call says the same");
    let sealing = writer.seal(ManifestEnd::default()).unwrap_err();
    assert_eq!(sealing.to_string(), text);
    let events = gapless_events(&folder);
    assert!(events > 30_000, "{events} events, there is room for nearly 98 304");
    // There was room for the manifest again, because the frame that was cut is cut off.
    let manifest = Manifest::read(&folder).unwrap();
    assert_eq!(manifest.totals.map(|totals| totals.events), Some(events), "{manifest:?}");
    assert!(manifest.notes[0].contains("ended early"), "{:?}", manifest.notes);
}

#[test]
#[ignore = "the part in the small disk; the test above starts it"]
fn fills_before_compressing() {
    let Ok(disk) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&disk).join("recording");
    let options = Options { compress: true, ..Options::default() };
    let mut writer = Writer::create_with(&folder, Manifest::default(), options).unwrap();
    writer.append(numbered_batch(0, 60_000)).unwrap();
    // The rest of the disk but for the manifest; the write that fails has filled it.
    let ballast = Path::new(&disk).join("ballast");
    fs::write(&ballast, vec![0; 1_100_000]).unwrap();
    writer.seal(ManifestEnd::default()).unwrap();
    assert_eq!(gapless_events(&folder), 60_000);
    let manifest = Manifest::read(&folder).unwrap();
    assert!(manifest.sealed && manifest.notes[0].contains("not compressed"), "{manifest:?}");
    assert_eq!(fs::read_dir(folder.join("events")).unwrap().count(), 1, "the segment alone");
}

#[test]
#[ignore = "the part in the small disk; the test above starts it"]
fn fills_while_tables_are_written() {
    let Ok(disk) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&disk);
    let older = folder.join(SEGMENTS_FILE);
    fs::write(&older, "older").unwrap();
    let mut tables = TableWriter::create(folder).unwrap();
    // Numbers that cannot be packed, 16 bytes a row.
    for at in 0..1_000_000u64 {
        let ns = (at ^ (at << 21)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let ns = (ns ^ (ns >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        tables.segment(&SegmentRow { start_ns: ns, ns, ..SegmentRow::default() });
        tables.wakeup(&WakeupRow::default());
    }
    let error = tables.finish().err().unwrap().to_string();
    assert!(error.contains("segments.parquet: ") && error.contains("disk full"), "{error}");
    assert_eq!(fs::read(&older).unwrap(), b"older");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "and no other");
}
