//! The thread that writes the tables.

use super::block::{Segments, Wakeups};
use super::chunk::ChunkWriter;
use super::{SEGMENTS_FILE, TableError, WAKEUPS_FILE};
use crate::table_file::{TableFile, properties};
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{BoolType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};
use tardy_files::Folder;

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

/// Columns whose differences from row to row are smaller than they are.
const DELTAS: [&str; 7] =
    ["id", "expiry_ns", "lateness_ns", "wakeup_id", "position", "start_ns", "ns"];

/// Of these the ones whose last bits are noise: compressing them would save a tenth, and cost as much
/// time as all else of theirs.
const NOISE: [&str; 4] = ["expiry_ns", "lateness_ns", "start_ns", "ns"];

/// What is sent to the thread, and back when it is written.
pub(super) enum Message {
    /// A row group of `wakeups.parquet`.
    Wakeups(Wakeups),
    /// A row group of `segments.parquet`.
    Segments(Segments),
    /// Both are complete. Without this they are given up.
    End,
}

/// Both files.
pub(super) struct Files {
    wakeups: TableFile,
    segments: TableFile,
    chunks: ChunkWriter,
    /// Room for the numbers of a column, and for which rows have one.
    numbers: Vec<u32>,
    levels: Vec<u32>,
}

impl Files {
    pub(super) fn create(dir: &Path) -> Result<Self, TableError> {
        let wrong = |name| move |source| TableError { path: dir.join(name), source };
        let folder = Folder::open(dir).map_err(|error| wrong(WAKEUPS_FILE)(error.into()))?;
        let create = |name, schema| {
            TableFile::create(&folder, name, schema, table_properties()).map_err(wrong(name))
        };
        let chunks = ChunkWriter::new()
            .map_err(|error| TableError { path: dir.to_owned(), source: error.into() })?;
        Ok(Self {
            wakeups: create(WAKEUPS_FILE, WAKEUPS_SCHEMA)?,
            segments: create(SEGMENTS_FILE, SEGMENTS_SCHEMA)?,
            chunks,
            numbers: Vec::new(),
            levels: Vec::new(),
        })
    }

    /// Writes what comes until the end, and sends it back empty.
    pub(super) fn write(
        mut self,
        queued: &Receiver<Message>,
        back: &Sender<Message>,
    ) -> Result<(), TableError> {
        for message in queued {
            let empty = match message {
                Message::Wakeups(mut wakeups) => {
                    let written = self.write_wakeups(&wakeups);
                    written.map_err(|source| error(&self.wakeups, source))?;
                    wakeups.clear();
                    Message::Wakeups(wakeups)
                }
                Message::Segments(mut segments) => {
                    let written = self.write_segments(&segments);
                    written.map_err(|source| error(&self.segments, source))?;
                    segments.clear();
                    Message::Segments(segments)
                }
                Message::End => return self.finish(),
            };
            // Nobody wants it back any more once all has been sent.
            let _ = back.send(empty);
        }
        Ok(())
    }

    fn write_wakeups(&mut self, rows: &Wakeups) -> Result<()> {
        let columns = self.wakeups.columns()?;
        let mut group = self.wakeups.next_row_group()?;
        let chunks = &mut self.chunks;
        plain::<Int64Type>(&mut group, &rows.id)?;
        plain::<Int32Type>(&mut group, &rows.task)?;
        chunks.write(&mut group, &columns[2], &rows.names, &rows.task_name, None)?;
        plain::<Int32Type>(&mut group, &rows.cpu)?;
        plain::<Int32Type>(&mut group, &rows.prio)?;
        chunks.write(&mut group, &columns[5], &rows.kinds, &rows.kind, None)?;
        plain::<Int64Type>(&mut group, &rows.expiry_ns)?;
        plain::<Int64Type>(&mut group, &rows.lateness_ns)?;
        plain::<BoolType>(&mut group, &rows.to_user)?;
        plain::<BoolType>(&mut group, &rows.touched_by_loss)?;
        group.close()?;
        Ok(())
    }

    fn write_segments(&mut self, rows: &Segments) -> Result<()> {
        let columns = self.segments.columns()?;
        let mut group = self.segments.next_row_group()?;
        let (chunks, numbers, levels) = (&mut self.chunks, &mut self.numbers, &mut self.levels);
        let culprits = || rows.culprit.iter().map(|place| rows.labels[*place as usize]);
        plain::<Int64Type>(&mut group, &rows.wakeup_id)?;
        plain::<Int32Type>(&mut group, &rows.position)?;
        chunks.write(&mut group, &columns[2], &rows.causes, &rows.cause, None)?;
        numbers.clear();
        numbers.extend(culprits().map(|label| label.kind));
        chunks.write(&mut group, &columns[3], &rows.kinds, numbers, None)?;
        numbers.clear();
        numbers.extend(culprits().map(|label| label.name));
        chunks.write(&mut group, &columns[4], &rows.names, numbers, None)?;
        numbers.clear();
        numbers.extend(culprits().filter_map(|label| label.pid));
        levels.clear();
        levels.extend(culprits().map(|label| u32::from(label.pid.is_some())));
        chunks.write(&mut group, &columns[5], &rows.pids, numbers, Some(levels))?;
        plain::<Int64Type>(&mut group, &rows.start_ns)?;
        plain::<Int64Type>(&mut group, &rows.ns)?;
        group.close()?;
        Ok(())
    }

    fn finish(mut self) -> Result<(), TableError> {
        self.wakeups.finish().map_err(|source| error(&self.wakeups, source))?;
        self.segments.finish().map_err(|source| error(&self.segments, source))?;
        for table in [&mut self.wakeups, &mut self.segments] {
            table.commit().map_err(|source| error(table, source))?;
        }
        Ok(())
    }
}

/// Writes the next column as it is.
fn plain<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
) -> Result<()> {
    let mut column = group.next_column()?.ok_or_else(|| {
        ParquetError::General("the schema has fewer columns than a row".to_owned())
    })?;
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

fn table_properties() -> WriterProperties {
    // A row group is small enough to be read whole: no statistics and places of single pages.
    let mut properties = properties()
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for column in DELTAS.map(ColumnPath::from) {
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    for column in NOISE.map(ColumnPath::from) {
        properties = properties.set_column_compression(column, Compression::UNCOMPRESSED);
    }
    properties.build()
}

fn error(table: &TableFile, source: ParquetError) -> TableError {
    TableError { path: table.path().to_owned(), source }
}
