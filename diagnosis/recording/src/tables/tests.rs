use super::*;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use std::fs::{self, File};

fn read(path: &Path) -> (Vec<Vec<(String, Field)>>, usize) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        row.get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect()
    });
    (rows.collect(), reader.num_row_groups())
}

fn text(text: &str) -> Field {
    Field::Str(text.to_owned())
}

#[test]
fn rows_come_back_with_their_types() {
    let dir = tempfile::tempdir().unwrap();
    let mut tables = TableWriter::with_rows_per_group(dir.path(), 4).unwrap();
    for id in 0..10u64 {
        let wakeup = WakeupRow {
            id: u64::MAX - id,
            task: u32::MAX,
            task_name: if id % 2 == 0 { "cyclic \"é\"" } else { "" },
            victim: (id % 2) as u32,
            cpu: 1,
            prio: -1,
            kind: "timer",
            expiry_ns: 1 << 63,
            lateness_ns: id,
            to_user: id == 3,
            touched_by_loss: false,
        };
        tables.wakeup(&wakeup);
        let segment = SegmentRow {
            wakeup_id: u64::MAX - id,
            position: 2,
            cause: "higher_priority",
            culprit_kind: "task",
            culprit_name: "hog",
            culprit_pid: (id != 5).then_some(4_000_000_000),
            culprit: if id == 5 { u32::MAX } else { 3 },
            start_ns: 7,
            ns: id,
        };
        tables.segment(&segment);
    }
    assert!(!dir.path().join(WAKEUPS_FILE).exists(), "not before it is whole");
    tables.finish().unwrap();

    let (wakeups, groups) = read(&dir.path().join(WAKEUPS_FILE));
    assert_eq!((wakeups.len(), groups), (10, 3));
    let expected = [
        ("id", Field::ULong(u64::MAX - 3)),
        ("task", Field::UInt(u32::MAX)),
        ("task_name", text("")),
        ("cpu", Field::UInt(1)),
        ("prio", Field::Int(-1)),
        ("kind", text("timer")),
        ("expiry_ns", Field::ULong(1 << 63)),
        ("lateness_ns", Field::ULong(3)),
        ("to_user", Field::Bool(true)),
        ("touched_by_loss", Field::Bool(false)),
    ];
    assert_eq!(expected.clone().map(|(name, _)| name), WakeupRow::COLUMNS);
    assert_eq!(wakeups[3], expected.map(|(name, field)| (name.to_owned(), field)));
    assert_eq!(wakeups[4][2].1, text("cyclic \"é\""));

    let (segments, _) = read(&dir.path().join(SEGMENTS_FILE));
    let expected = [
        ("wakeup_id", Field::ULong(u64::MAX - 5)),
        ("position", Field::UInt(2)),
        ("cause", text("higher_priority")),
        ("culprit_kind", text("task")),
        ("culprit_name", text("hog")),
        ("culprit_pid", Field::Null),
        ("start_ns", Field::ULong(7)),
        ("ns", Field::ULong(5)),
    ];
    assert_eq!(expected.clone().map(|(name, _)| name), SegmentRow::COLUMNS);
    assert_eq!(segments[5], expected.map(|(name, field)| (name.to_owned(), field)));
    assert_eq!(segments[9][5].1, Field::UInt(4_000_000_000));
}

#[test]
fn tables_without_rows_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    TableWriter::create(dir.path()).unwrap().finish().unwrap();
    assert_eq!(read(&dir.path().join(WAKEUPS_FILE)), (vec![], 0));
    assert_eq!(read(&dir.path().join(SEGMENTS_FILE)), (vec![], 0));
}

/// Names by the thousand, in an order that has runs and none, with pids and without.
#[test]
fn names_come_back_from_their_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let mut tables = TableWriter::with_rows_per_group(dir.path(), 10_000).unwrap();
    let number = |at: u64| (if at.is_multiple_of(3) { at / 500 } else { at * at % 2_003 }) as u32;
    let pid = |at: u64| (number(at) % 5 > 1).then_some(number(at) / 2);
    // The same name for several culprits.
    let name = |at: u64| format!("name {}", number(at) / 3);
    for at in 0..30_001 {
        tables.segment(&SegmentRow {
            wakeup_id: at,
            cause: ["slack", "callback", "unexplained"][(at / 100 % 3) as usize],
            culprit_name: &name(at),
            culprit_pid: pid(at),
            culprit: number(at),
            ..SegmentRow::default()
        });
    }
    // Nobody here has a pid.
    for at in 30_001..40_002 {
        let culprit = u32::MAX;
        tables.segment(&SegmentRow { wakeup_id: at, culprit, ..SegmentRow::default() });
    }
    tables.finish().unwrap();
    let (segments, groups) = read(&dir.path().join(SEGMENTS_FILE));
    assert_eq!((segments.len(), groups), (40_002, 5));
    for (at, row) in (0u64..).zip(&segments) {
        let known = at < 30_001;
        let pid = pid(at).filter(|_| known);
        assert_eq!(row[0].1, Field::ULong(at));
        assert_eq!(row[4].1, text(&if known { name(at) } else { String::new() }), "{at}");
        assert_eq!(row[5].1, pid.map_or(Field::Null, Field::UInt));
    }
}

#[test]
fn a_row_group_ends_where_its_names_are_too_many() {
    let dir = tempfile::tempdir().unwrap();
    let mut tables = TableWriter::create(dir.path()).unwrap();
    let long = "n".repeat(1 << 15);
    for at in 0..100 {
        let task_name = &format!("{long}{at}");
        tables.wakeup(&WakeupRow { task_name, victim: at, ..WakeupRow::default() });
    }
    tables.finish().unwrap();
    let (wakeups, groups) = read(&dir.path().join(WAKEUPS_FILE));
    assert_eq!((wakeups.len(), groups), (100, 4));
    assert_eq!(wakeups[99][2].1, text(&format!("{long}99")));
}

#[test]
fn a_link_in_the_way_is_replaced_and_not_written_through() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let precious = elsewhere.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    for name in [SEGMENTS_FILE, "segments.parquet.tmp", "wakeups.parquet.tmp"] {
        std::os::unix::fs::symlink(&precious, dir.path().join(name)).unwrap();
    }
    let mut tables = TableWriter::with_rows_per_group(dir.path(), 100).unwrap();
    tables.segment(&SegmentRow::default());
    tables.wakeup(&WakeupRow::default());
    tables.finish().unwrap();
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
    assert_eq!(read(&dir.path().join(SEGMENTS_FILE)).0.len(), 1);
}

#[test]
fn what_is_not_finished_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut tables = TableWriter::create(dir.path()).unwrap();
    tables.wakeup(&WakeupRow::default());
    drop(tables);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    let error = TableWriter::create(&dir.path().join("nowhere")).err().unwrap();
    assert!(error.to_string().contains("nowhere/wakeups.parquet"), "{error}");
}

#[test]
fn a_wakeup_is_revised_while_others_follow() {
    let dir = tempfile::tempdir().unwrap();
    let mut tables = TableWriter::with_rows_per_group(dir.path(), 4).unwrap();
    for id in 0..10u64 {
        tables.wakeup(&WakeupRow { id, kind: "timer", ..WakeupRow::default() });
        if id == 6 {
            // Of the row group that is being filled, of one that is full, and of none.
            for before in [0, 5, 7] {
                tables.touched(before);
            }
        }
    }
    tables.finish().unwrap();
    let (wakeups, groups) = read(&dir.path().join(WAKEUPS_FILE));
    let is_touched = |row: &Vec<(String, Field)>| {
        row.contains(&("touched_by_loss".to_owned(), Field::Bool(true)))
    };
    let touched: Vec<usize> = (0..10).filter(|at| is_touched(&wakeups[*at])).collect();
    assert_eq!((touched, groups), (vec![1, 6], 3));
}
