//! What an explanation found, as two tables that any query engine reads.
//!
//! `wakeups.parquet`, one row per wakeup:
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `id` | u64 | the wakeup, counted from 0 |
//! | `task` | u32 | the victim's thread id |
//! | `task_name` | text | its name |
//! | `cpu` | u32 | where it came to run |
//! | `prio` | i32 | its priority as the scheduler counts it: lower runs first |
//! | `kind` | text | what woke it: `timer`, `task`, `irq`, … |
//! | `expiry_ns` | u64 | the soft expiry of a timed wakeup, the time of waking of any other |
//! | `lateness_ns` | u64 | how late it ran |
//! | `to_user` | bool | whether that ends at the return to user space (else at the switch) |
//! | `touched_by_loss` | bool | whether lost events may hide part of the truth |
//!
//! `segments.parquet`, one row per segment of a wakeup's balance; the `ns` of one wakeup sum to its
//! `lateness_ns`:
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `wakeup_id` | u64 | `id` of the wakeup |
//! | `position` | u32 | the segment, counted from 0 in time order |
//! | `cause` | text | why the victim did not run |
//! | `culprit_kind` | text | `task`, `timer`, `irq`, …, `unknown` |
//! | `culprit_name` | text | who it was; empty where it is not known |
//! | `culprit_pid` | u32, may be null | the culprit's thread id, where it has one |
//! | `start_ns` | u64 | when it began |
//! | `ns` | u64 | how long it took |
//!
//! Both are zstd-compressed, in row groups of at most [`ROWS_PER_GROUP`] rows. A thread of its own writes
//! them, beside whoever finds what is in them; a name is a number on the way there, and is written once
//! for each row group. Three row groups of each table are in memory at most, 16 MiB together.

mod block;
mod chunk;
mod hybrid;
mod writing;

use crate::parquet_file::Value;
use block::{Seen, Segments, Wakeups};
use parquet::errors::ParquetError;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use writing::{Files, Message};

/// The most rows of a row group.
pub const ROWS_PER_GROUP: usize = 1 << 16;

/// Row groups that wait for the thread that writes them. Whoever makes more waits for it.
const QUEUED_MAX: usize = 1;

/// The table of wakeups, in a recording's folder.
pub const WAKEUPS_FILE: &str = "wakeups.parquet";

/// The table of their segments.
pub const SEGMENTS_FILE: &str = "segments.parquet";

/// A row of `wakeups.parquet`; the columns' meaning is at the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct WakeupRow<'a> {
    pub id: u64,
    pub task: u32,
    pub task_name: &'a str,
    /// No column: a number that stands for this name, whenever it comes.
    pub victim: u32,
    pub cpu: u32,
    pub prio: i32,
    pub kind: &'static str,
    pub expiry_ns: u64,
    pub lateness_ns: u64,
    pub to_user: bool,
    pub touched_by_loss: bool,
}

/// A row of `segments.parquet`; the columns' meaning is at the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SegmentRow<'a> {
    pub wakeup_id: u64,
    pub position: u32,
    pub cause: &'static str,
    pub culprit_kind: &'static str,
    pub culprit_name: &'a str,
    pub culprit_pid: Option<u32>,
    /// No column: a number that stands for this kind, name and pid, whenever it comes.
    pub culprit: u32,
    pub start_ns: u64,
    pub ns: u64,
}

/// A table could not be written. A table that was there before is still there.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the table {path}: {source}; is the disk full, or the folder read-only?")]
pub struct TableError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub source: ParquetError,
}

/// Writes both tables. They appear in the folder with [`TableWriter::finish`], in place of older
/// ones; dropped before that, it leaves nothing.
///
/// Where one cannot be written, [`TableWriter::finish`] says so, and rows that come until then go
/// nowhere.
pub struct TableWriter {
    rows_max: usize,
    wakeups: Wakeups,
    segments: Segments,
    seen_wakeups: Seen,
    seen_segments: Seen,
    /// `None` once all is sent.
    queue: Option<SyncSender<Message>>,
    /// What has been written comes back, to be filled again.
    written: Receiver<Message>,
    spare_wakeups: Vec<Wakeups>,
    spare_segments: Vec<Segments>,
    /// `None` once it has ended.
    thread: Option<JoinHandle<Result<(), TableError>>>,
}

impl TableWriter {
    /// Begins both tables for the folder `dir`.
    ///
    /// # Errors
    /// Where a file cannot be created.
    pub fn create(dir: &Path) -> Result<Self, TableError> {
        Self::with_rows_per_group(dir, ROWS_PER_GROUP)
    }

    fn with_rows_per_group(dir: &Path, rows_max: usize) -> Result<Self, TableError> {
        let files = Files::create(dir)?;
        let (queue, queued) = sync_channel(QUEUED_MAX);
        let (back, written) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("tables".to_owned())
            .spawn(move || files.write(&queued, &back))
            .map_err(|error| TableError { path: dir.to_owned(), source: error.into() })?;
        Ok(Self {
            rows_max,
            wakeups: Wakeups::default(),
            segments: Segments::default(),
            seen_wakeups: Seen::default(),
            seen_segments: Seen::default(),
            queue: Some(queue),
            written,
            spare_wakeups: Vec::new(),
            spare_segments: Vec::new(),
            thread: Some(thread),
        })
    }

    /// Appends a wakeup.
    pub fn wakeup(&mut self, row: &WakeupRow<'_>) {
        self.wakeups.push(row, &mut self.seen_wakeups);
        if self.wakeups.rows() >= self.rows_max || self.wakeups.is_full() {
            self.send_wakeups();
        }
    }

    /// Appends a segment.
    pub fn segment(&mut self, row: &SegmentRow<'_>) {
        self.segments.push(row, &mut self.seen_segments);
        if self.segments.rows() >= self.rows_max || self.segments.is_full() {
            self.send_segments();
        }
    }

    fn send_wakeups(&mut self) {
        self.take_back();
        let empty = self.spare_wakeups.pop().unwrap_or_default();
        self.seen_wakeups.begin();
        let full = std::mem::replace(&mut self.wakeups, empty);
        self.send(Message::Wakeups(full));
    }

    fn send_segments(&mut self) {
        self.take_back();
        let empty = self.spare_segments.pop().unwrap_or_default();
        self.seen_segments.begin();
        let full = std::mem::replace(&mut self.segments, empty);
        self.send(Message::Segments(full));
    }

    fn take_back(&mut self) {
        for message in self.written.try_iter() {
            match message {
                Message::Wakeups(wakeups) => self.spare_wakeups.push(wakeups),
                Message::Segments(segments) => self.spare_segments.push(segments),
                Message::End => {}
            }
        }
    }

    fn send(&mut self, message: Message) {
        if let Some(queue) = &self.queue
            && queue.send(message).is_err()
        {
            // The thread has ended, and why is told in the end.
            self.queue = None;
        }
    }

    /// Completes both files, then gives both their names.
    ///
    /// # Errors
    /// Where a table could not be written.
    pub fn finish(mut self) -> Result<(), TableError> {
        if self.wakeups.rows() > 0 {
            self.send_wakeups();
        }
        if self.segments.rows() > 0 {
            self.send_segments();
        }
        self.send(Message::End);
        self.queue = None;
        self.join()
    }

    fn join(&mut self) -> Result<(), TableError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for TableWriter {
    fn drop(&mut self) {
        // Without an end the thread takes its files with it.
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl<'a> WakeupRow<'a> {
    /// The columns' names, in the order of [`WakeupRow::values`].
    pub const COLUMNS: [&'static str; 10] = [
        "id",
        "task",
        "task_name",
        "cpu",
        "prio",
        "kind",
        "expiry_ns",
        "lateness_ns",
        "to_user",
        "touched_by_loss",
    ];

    /// Its values, a column each.
    pub fn values(&self) -> [Value<'a>; 10] {
        [
            Value::U64(self.id),
            Value::U32(self.task),
            Value::Text(self.task_name),
            Value::U32(self.cpu),
            Value::I32(self.prio),
            Value::Text(self.kind),
            Value::U64(self.expiry_ns),
            Value::U64(self.lateness_ns),
            Value::Bool(self.to_user),
            Value::Bool(self.touched_by_loss),
        ]
    }
}

impl<'a> SegmentRow<'a> {
    /// The columns' names, in the order of [`SegmentRow::values`].
    pub const COLUMNS: [&'static str; 8] = [
        "wakeup_id",
        "position",
        "cause",
        "culprit_kind",
        "culprit_name",
        "culprit_pid",
        "start_ns",
        "ns",
    ];

    /// Its values, a column each.
    pub fn values(&self) -> [Value<'a>; 8] {
        [
            Value::U64(self.wakeup_id),
            Value::U32(self.position),
            Value::Text(self.cause),
            Value::Text(self.culprit_kind),
            Value::Text(self.culprit_name),
            Value::OptionalU32(self.culprit_pid),
            Value::U64(self.start_ns),
            Value::U64(self.ns),
        ]
    }
}

#[cfg(test)]
mod tests {
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
        let number = |at: u64| (if at % 3 == 0 { at / 500 } else { at * at % 2_003 }) as u32;
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
    fn a_full_disk_is_told_once_and_leaves_the_older_table() {
        let dir = tempfile::tempdir().unwrap();
        let older = dir.path().join(SEGMENTS_FILE);
        fs::write(&older, "older").unwrap();
        std::os::unix::fs::symlink("/dev/full", older.with_extension("parquet.tmp")).unwrap();
        let mut tables = TableWriter::with_rows_per_group(dir.path(), 100).unwrap();
        for _ in 0..100_000 {
            tables.segment(&SegmentRow::default());
            tables.wakeup(&WakeupRow::default());
        }
        let error = tables.finish().err().unwrap().to_string();
        assert!(error.contains("segments.parquet: ") && error.contains("disk full"), "{error}");
        assert_eq!(fs::read(&older).unwrap(), b"older");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "and no other");
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
}
