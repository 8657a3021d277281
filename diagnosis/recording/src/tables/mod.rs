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
//! Both are zstd-compressed where that is worth it, in row groups of at most [`ROWS_PER_GROUP`] rows. A thread of its own writes
//! them, beside whoever finds what is in them; a name is a number on the way there, and is written once
//! for each row group. Five row groups of each table are in memory at most, 24 MiB together.

mod block;
mod chunk;
mod hybrid;
#[cfg(test)]
mod tests;
mod writing;

use crate::parquet_file::Value;
use block::{Seen, Segments, Wakeups};
use parquet::errors::ParquetError;
use std::collections::VecDeque;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use writing::{Files, Message};

/// The most rows of a row group.
pub const ROWS_PER_GROUP: usize = 1 << 16;

/// Wakeups of which [`TableWriter::touched`] may tell, the last ones: of one before them it changes nothing.
pub const REVISED_MAX: usize = 1 << 14;

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
    /// Row groups that are full and may still be revised, the oldest first.
    revised: VecDeque<Wakeups>,
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
            revised: VecDeque::new(),
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
            self.end_wakeups();
        }
    }

    /// A loss turns out to have touched a wakeup that was appended before: the one with so many after it, fewer
    /// than [`REVISED_MAX`].
    pub fn touched(&mut self, before: usize) {
        let mut left = before;
        for wakeups in iter::once(&mut self.wakeups).chain(self.revised.iter_mut().rev()) {
            if let Some(at) = wakeups.rows().checked_sub(left + 1) {
                wakeups.touched_by_loss[at] = true;
                return;
            }
            left -= wakeups.rows();
        }
    }

    /// Appends a segment.
    pub fn segment(&mut self, row: &SegmentRow<'_>) {
        self.segments.push(row, &mut self.seen_segments);
        if self.segments.rows() >= self.rows_max || self.segments.is_full() {
            self.send_segments();
        }
    }

    /// Begins another row group of wakeups, and sends those that nobody revises any more.
    fn end_wakeups(&mut self) {
        self.take_back();
        let empty = self.spare_wakeups.pop().unwrap_or_default();
        self.seen_wakeups.begin();
        self.revised.push_back(std::mem::replace(&mut self.wakeups, empty));
        let mut after: usize = self.revised.iter().map(Wakeups::rows).sum();
        while let Some(first) = self.revised.front() {
            after -= first.rows();
            if after < REVISED_MAX {
                return;
            }
            self.send_revised();
        }
    }

    fn send_revised(&mut self) {
        if let Some(wakeups) = self.revised.pop_front() {
            self.send(Message::Wakeups(wakeups));
        }
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
            self.end_wakeups();
        }
        while !self.revised.is_empty() {
            self.send_revised();
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
