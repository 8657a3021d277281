//! A folder with `events.parquet`, `wakeups.parquet` and `segments.parquet`, for `DuckDB`, Polars,
//! pandas, Spark and whatever else reads Parquet.
//!
//! `events.parquet` has a row per event with the columns of [`EVENT_COLUMNS`]; those that a kind of
//! event does not have are null. The other two are the tables that `tardy explain --tables` writes. Row
//! groups have at most [`ROWS_PER_GROUP`] rows, which are in memory: about 60 MiB with all three.

use crate::event_row::{EVENT_COLUMNS, EventColumn, EventRow, EventRows};
use crate::output::needs_a_path;
use crate::rows::WakeupRows;
use crate::{About, Export, ExportError, Format};
use std::fs;
use std::path::{Path, PathBuf};
use tardy_explain::{Explanation, Named};
use tardy_files::{Access, Folder};
use tardy_model::Batch;
use tardy_recording::parquet_file::ParquetFile;
use tardy_recording::tables::{ROWS_PER_GROUP, TableError, TableWriter};

pub(super) struct Parquet;

/// The table of events, in the folder.
const EVENTS_FILE: &str = "events.parquet";

impl Format for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["parquet"]
    }

    fn meaning(&self) -> &'static str {
        "a folder with events.parquet, wakeups.parquet and segments.parquet"
    }

    fn create(&self, path: &Path, _: &About) -> Result<Box<dyn Export>, ExportError> {
        needs_a_path(path, "a folder of tables")?;
        Ok(Box::new(Tables::create(path)?))
    }
}

/// The three tables. They appear in the folder when they are finished.
pub(super) struct Tables {
    folder: PathBuf,
    /// Whether the folder was not there before.
    is_ours: bool,
    rows: EventRows,
    /// `None` when they are whole, or given up.
    events: Option<ParquetFile>,
    wakeup_rows: WakeupRows,
    wakeups: Option<TableWriter>,
}

impl Tables {
    pub(super) fn create(folder: &Path) -> Result<Self, ExportError> {
        let is_ours = make_folder(folder)?;
        let path = folder.join(EVENTS_FILE);
        let lines: String = EVENT_COLUMNS.iter().map(EventColumn::schema).collect();
        let schema = format!("message events {{ {lines} }}");
        let like = EventRow::default().values();
        let held = Folder::open(folder).map_err(|error| ExportError::io(folder, error))?;
        let events = ParquetFile::create(&held, EVENTS_FILE, &schema, &like, ROWS_PER_GROUP)
            .map_err(|source| TableError { path, source })?;
        Ok(Self {
            folder: folder.to_owned(),
            is_ours,
            rows: EventRows::default(),
            events: Some(events),
            wakeup_rows: WakeupRows::default(),
            wakeups: Some(TableWriter::create(folder)?),
        })
    }

    pub(super) fn finish_tables(&mut self) -> Result<(), ExportError> {
        let wrong = |source| TableError { path: self.folder.join(EVENTS_FILE), source };
        let Some(mut events) = self.events.take() else { return Ok(()) };
        events.finish().map_err(wrong)?;
        if let Some(wakeups) = self.wakeups.take() {
            wakeups.finish()?;
        }
        events.commit().map_err(wrong)?;
        self.is_ours = false;
        Ok(())
    }
}

/// Makes a folder, or takes one that is there; whether it was made.
pub(super) fn make_folder(folder: &Path) -> Result<bool, ExportError> {
    let is_there = folder.is_dir();
    Folder::make(folder, Access::Usual).map_err(|error| ExportError::io(folder, error))?;
    Ok(!is_there)
}

impl Export for Tables {
    fn batch(&mut self, batch: &Batch) -> Result<(), ExportError> {
        batch.define(&mut self.rows.tables);
        let Some(events) = &mut self.events else { return Ok(()) };
        for event in &batch.events {
            let row = self.rows.row(event).values();
            let pushed = events.push(&row);
            pushed.map_err(|source| TableError { path: events.path().to_owned(), source })?;
        }
        Ok(())
    }

    fn wakeup(&mut self, wakeup: &Named<'_>) -> Result<(), ExportError> {
        if let Some(tables) = &mut self.wakeups {
            self.wakeup_rows.append(wakeup, tables);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: &Explanation) -> Result<(), ExportError> {
        self.finish_tables()
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        // What has not been finished leaves nothing.
        self.wakeups = None;
        self.events = None;
        if self.is_ours {
            let _ = fs::remove_dir(&self.folder);
        }
    }
}
