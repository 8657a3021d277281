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
//! Both are zstd-compressed, in row groups of at most [`ROWS_PER_GROUP`] rows; that many rows are in
//! memory, about 16 MiB for both together (and their distinct names).

use crate::parquet_file::{ParquetFile, Value};
use parquet::errors::ParquetError;
use std::path::{Path, PathBuf};

/// The most rows of a row group.
pub const ROWS_PER_GROUP: usize = 1 << 16;

/// The table of wakeups, in a recording's folder.
pub const WAKEUPS_FILE: &str = "wakeups.parquet";

/// The table of their segments.
pub const SEGMENTS_FILE: &str = "segments.parquet";

const WAKEUPS_SCHEMA: &str = "message wakeups {
    required int64 id (INTEGER(64,false));
    required int32 task (INTEGER(32,false));
    required binary task_name (STRING);
    required int32 cpu (INTEGER(32,false));
    required int32 prio;
    required binary kind (STRING);
    required int64 expiry_ns (INTEGER(64,false));
    required int64 lateness_ns (INTEGER(64,false));
    required boolean to_user;
    required boolean touched_by_loss;
}";

const SEGMENTS_SCHEMA: &str = "message segments {
    required int64 wakeup_id (INTEGER(64,false));
    required int32 position (INTEGER(32,false));
    required binary cause (STRING);
    required binary culprit_kind (STRING);
    required binary culprit_name (STRING);
    optional int32 culprit_pid (INTEGER(32,false));
    required int64 start_ns (INTEGER(64,false));
    required int64 ns (INTEGER(64,false));
}";

/// A row of `wakeups.parquet`; the columns' meaning is at the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct WakeupRow<'a> {
    pub id: u64,
    pub task: u32,
    pub task_name: &'a str,
    pub cpu: u32,
    pub prio: i32,
    pub kind: &'a str,
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
    pub cause: &'a str,
    pub culprit_kind: &'a str,
    pub culprit_name: &'a str,
    pub culprit_pid: Option<u32>,
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
pub struct TableWriter {
    wakeups: ParquetFile,
    segments: ParquetFile,
}

impl TableWriter {
    /// Begins both tables for the folder `dir`.
    ///
    /// # Errors
    /// Where a file cannot be created.
    pub fn create(dir: &Path) -> Result<Self, TableError> {
        Self::with_rows_per_group(dir, ROWS_PER_GROUP)
    }

    fn with_rows_per_group(dir: &Path, rows: usize) -> Result<Self, TableError> {
        let create = |name, schema, like: &[Value<'_>]| {
            let path = dir.join(name);
            ParquetFile::create(path.clone(), schema, like, rows)
                .map_err(|source| TableError { path, source })
        };
        Ok(Self {
            wakeups: create(WAKEUPS_FILE, WAKEUPS_SCHEMA, &WakeupRow::default().values())?,
            segments: create(SEGMENTS_FILE, SEGMENTS_SCHEMA, &SegmentRow::default().values())?,
        })
    }

    /// Appends a wakeup.
    ///
    /// # Errors
    /// Where a row group is full and cannot be written.
    pub fn wakeup(&mut self, row: &WakeupRow<'_>) -> Result<(), TableError> {
        self.wakeups.push(&row.values()).map_err(|source| table_error(&self.wakeups, source))
    }

    /// Appends a segment.
    ///
    /// # Errors
    /// Where a row group is full and cannot be written.
    pub fn segment(&mut self, row: &SegmentRow<'_>) -> Result<(), TableError> {
        self.segments.push(&row.values()).map_err(|source| table_error(&self.segments, source))
    }

    /// Completes both files, then gives both their names.
    ///
    /// # Errors
    /// Where what remains cannot be written.
    pub fn finish(mut self) -> Result<(), TableError> {
        let wakeups = self.wakeups.finish().map_err(|source| table_error(&self.wakeups, source))?;
        let segments =
            self.segments.finish().map_err(|source| table_error(&self.segments, source))?;
        for (table, file) in [(&self.wakeups, wakeups), (&self.segments, segments)] {
            table.commit(&file).map_err(|source| table_error(table, source))?;
        }
        Ok(())
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

fn table_error(table: &ParquetFile, source: ParquetError) -> TableError {
    TableError { path: table.path().to_owned(), source }
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
                cpu: 1,
                prio: -1,
                kind: "timer",
                expiry_ns: 1 << 63,
                lateness_ns: id,
                to_user: id == 3,
                touched_by_loss: false,
            };
            tables.wakeup(&wakeup).unwrap();
            let segment = SegmentRow {
                wakeup_id: u64::MAX - id,
                position: 2,
                cause: "higher_priority",
                culprit_kind: "task",
                culprit_name: "hog",
                culprit_pid: (id != 5).then_some(4_000_000_000),
                start_ns: 7,
                ns: id,
            };
            tables.segment(&segment).unwrap();
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

    #[test]
    fn what_is_not_finished_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut tables = TableWriter::create(dir.path()).unwrap();
        tables.wakeup(&WakeupRow::default()).unwrap();
        drop(tables);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let error = TableWriter::create(&dir.path().join("nowhere")).err().unwrap();
        assert!(error.to_string().contains("nowhere/wakeups.parquet"), "{error}");
    }
}
