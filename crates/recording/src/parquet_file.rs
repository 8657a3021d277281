//! A Parquet file that is filled row by row and written a row group at a time.

use crate::atomic_file;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One value of a row. The `u` numbers are unsigned in the file's schema, too.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    U64(u64),
    U32(u32),
    I32(i32),
    OptionalU32(Option<u32>),
    Bool(bool),
    Text(&'a str),
}

/// Writes `NAME.parquet`, under a temporary name until it is whole.
pub(crate) struct ParquetFile {
    path: PathBuf,
    temporary: PathBuf,
    /// `None` once the file is whole.
    writer: Option<SerializedFileWriter<File>>,
    columns: Vec<Column>,
    rows: usize,
    rows_max: usize,
    texts: HashMap<String, ByteArray>,
}

/// One column's values in the row group that is being filled.
enum Column {
    Int64(Vec<i64>),
    Int32(Vec<i32>),
    /// Values that are there, and for each row whether one is (Parquet's definition level).
    OptionalInt32(Vec<i32>, Vec<i16>),
    Bool(Vec<bool>),
    Text(Vec<ByteArray>),
}

impl ParquetFile {
    /// Begins the file at `path` with a schema in Parquet's message language. The columns of every
    /// row must be those of `like`, in kind and order, and fit the schema.
    pub(crate) fn create(
        path: PathBuf,
        schema: &str,
        like: &[Value<'_>],
        rows_max: usize,
    ) -> Result<Self> {
        let schema = Arc::new(parse_message_type(schema)?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("tardy ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let temporary = atomic_file::temporary_path(&path);
        let writer =
            SerializedFileWriter::new(File::create(&temporary)?, schema, Arc::new(properties))?;
        Ok(Self {
            path,
            temporary,
            writer: Some(writer),
            columns: like.iter().map(Column::for_values_like).collect(),
            rows: 0,
            rows_max,
            texts: HashMap::new(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn push(&mut self, row: &[Value<'_>]) -> Result<()> {
        assert_eq!(row.len(), self.columns.len(), "a row has a value for each column");
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(*value, &mut self.texts);
        }
        self.rows += 1;
        if self.rows >= self.rows_max { self.write_group() } else { Ok(()) }
    }

    /// Writes the rest and the file's footer; the file has its name after [`ParquetFile::commit`].
    pub(crate) fn finish(&mut self) -> Result<File> {
        if self.rows > 0 {
            self.write_group()?;
        }
        let writer = self.writer.take().ok_or_else(ended)?;
        writer.into_inner()
    }

    /// Gives the finished file its name.
    pub(crate) fn commit(&self, file: &File) -> Result<()> {
        Ok(atomic_file::commit(file, &self.temporary, &self.path)?)
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = self.writer.as_mut().ok_or_else(ended)?.next_row_group()?;
        for column in &mut self.columns {
            column.write(&mut group)?;
        }
        group.close()?;
        self.rows = 0;
        self.texts.clear();
        Ok(())
    }
}

impl Drop for ParquetFile {
    fn drop(&mut self) {
        // After a commit there is no such file; otherwise it is of no use to anyone.
        let _ = fs::remove_file(&self.temporary);
    }
}

impl Column {
    fn for_values_like(value: &Value<'_>) -> Self {
        match value {
            Value::U64(_) => Self::Int64(Vec::new()),
            Value::U32(_) | Value::I32(_) => Self::Int32(Vec::new()),
            Value::OptionalU32(_) => Self::OptionalInt32(Vec::new(), Vec::new()),
            Value::Bool(_) => Self::Bool(Vec::new()),
            Value::Text(_) => Self::Text(Vec::new()),
        }
    }

    fn push(&mut self, value: Value<'_>, texts: &mut HashMap<String, ByteArray>) {
        match (self, value) {
            // Parquet's unsigned numbers are the same bits.
            (Self::Int64(column), Value::U64(value)) => column.push(value as i64),
            (Self::Int32(column), Value::U32(value)) => column.push(value as i32),
            (Self::Int32(column), Value::I32(value)) => column.push(value),
            (Self::OptionalInt32(column, levels), Value::OptionalU32(value)) => {
                column.extend(value.map(|value| value as i32));
                levels.push(i16::from(value.is_some()));
            }
            (Self::Bool(column), Value::Bool(value)) => column.push(value),
            (Self::Text(column), Value::Text(value)) => {
                // Few names come very often: a clone shares the bytes.
                let text = if let Some(text) = texts.get(value) {
                    text.clone()
                } else {
                    let text = ByteArray::from(value);
                    texts.insert(value.to_owned(), text.clone());
                    text
                };
                column.push(text);
            }
            (_, value) => panic!("{value:?} is not of its column's kind"),
        }
    }

    fn write(&mut self, group: &mut SerializedRowGroupWriter<'_, File>) -> Result<()> {
        let mut writer = group.next_column()?.ok_or_else(|| {
            ParquetError::General("the schema has fewer columns than a row".to_owned())
        })?;
        match self {
            Self::Int64(values) => {
                writer.typed::<Int64Type>().write_batch(values, None, None)?;
                values.clear();
            }
            Self::Int32(values) => {
                writer.typed::<Int32Type>().write_batch(values, None, None)?;
                values.clear();
            }
            Self::OptionalInt32(values, levels) => {
                writer.typed::<Int32Type>().write_batch(values, Some(levels), None)?;
                values.clear();
                levels.clear();
            }
            Self::Bool(values) => {
                writer.typed::<BoolType>().write_batch(values, None, None)?;
                values.clear();
            }
            Self::Text(values) => {
                writer.typed::<ByteArrayType>().write_batch(values, None, None)?;
                values.clear();
            }
        }
        writer.close()
    }
}

fn ended() -> ParquetError {
    ParquetError::General("the file has been finished already".to_owned())
}
