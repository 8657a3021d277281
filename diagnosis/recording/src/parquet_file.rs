//! A Parquet file that is filled row by row and written a row group at a time.

use crate::table_file::{TableFile, properties};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::SerializedRowGroupWriter;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use tardy_files::Folder;

/// One value of a row. The `u` numbers are unsigned in the file's schema, too; the optional ones may be
/// null.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Value<'a> {
    U64(u64),
    U32(u32),
    I32(i32),
    Bool(bool),
    Text(&'a str),
    OptionalU64(Option<u64>),
    OptionalI64(Option<i64>),
    OptionalU32(Option<u32>),
    OptionalI32(Option<i32>),
    OptionalBool(Option<bool>),
    OptionalText(Option<&'a str>),
}

/// Writes a Parquet file, under a temporary name until it is whole; dropped before that, it leaves
/// nothing.
pub struct ParquetFile {
    file: TableFile,
    columns: Vec<Column>,
    rows: usize,
    rows_max: usize,
    texts: HashMap<String, ByteArray>,
}

/// One column's values in the row group that is being filled.
struct Column {
    values: Values,
    /// For each row whether a value is there (Parquet's definition level), where one may be missing.
    levels: Option<Vec<i16>>,
}

enum Values {
    Int64(Vec<i64>),
    Int32(Vec<i32>),
    Bool(Vec<bool>),
    Text(Vec<ByteArray>),
}

impl ParquetFile {
    /// Begins the file `name` in a folder, with a schema in Parquet's message language. The columns of every
    /// row must be those of `like`, in kind and order, and fit the schema. At most `rows_max` rows are
    /// in memory; as many make a row group.
    ///
    /// # Errors
    /// Where the file cannot be made, or the schema is none.
    pub fn create(
        folder: &Folder,
        name: &str,
        schema: &str,
        like: &[Value<'_>],
        rows_max: usize,
    ) -> Result<Self> {
        Ok(Self {
            file: TableFile::create(folder, name, schema, properties().build())?,
            columns: like.iter().map(Column::for_values_like).collect(),
            rows: 0,
            rows_max,
            texts: HashMap::new(),
        })
    }

    /// Where it will be.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Appends a row.
    ///
    /// # Errors
    /// Where a row group is full and cannot be written.
    ///
    /// # Panics
    /// Where the row's values are not of its columns' kinds.
    pub fn push(&mut self, row: &[Value<'_>]) -> Result<()> {
        assert_eq!(row.len(), self.columns.len(), "a row has a value for each column");
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(*value, &mut self.texts);
        }
        self.rows += 1;
        if self.rows >= self.rows_max { self.write_group() } else { Ok(()) }
    }

    /// Writes the rest and the file's footer; the file has its name after [`ParquetFile::commit`].
    ///
    /// # Errors
    /// Where what remains cannot be written.
    pub fn finish(&mut self) -> Result<()> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.file.finish()
    }

    /// Gives the finished file its name, in place of an older one.
    ///
    /// # Errors
    /// Where it cannot be brought to stable storage, or renamed.
    pub fn commit(&mut self) -> Result<()> {
        self.file.commit()
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            column.write(&mut group)?;
        }
        group.close()?;
        self.rows = 0;
        self.texts.clear();
        Ok(())
    }
}

impl Column {
    fn for_values_like(value: &Value<'_>) -> Self {
        let values = match value {
            Value::U64(_) | Value::OptionalU64(_) | Value::OptionalI64(_) => {
                Values::Int64(Vec::new())
            }
            Value::U32(_) | Value::I32(_) | Value::OptionalU32(_) | Value::OptionalI32(_) => {
                Values::Int32(Vec::new())
            }
            Value::Bool(_) | Value::OptionalBool(_) => Values::Bool(Vec::new()),
            Value::Text(_) | Value::OptionalText(_) => Values::Text(Vec::new()),
        };
        let is_required = matches!(
            value,
            Value::U64(_) | Value::U32(_) | Value::I32(_) | Value::Bool(_) | Value::Text(_)
        );
        Self { values, levels: (!is_required).then(Vec::new) }
    }

    fn push(&mut self, value: Value<'_>, texts: &mut HashMap<String, ByteArray>) {
        // Parquet's unsigned numbers are the same bits.
        let is_there = match (&mut self.values, value) {
            (Values::Int64(column), Value::U64(value)) => put(column, Some(value as i64)),
            (Values::Int64(column), Value::OptionalU64(value)) => {
                put(column, value.map(|value| value as i64))
            }
            (Values::Int64(column), Value::OptionalI64(value)) => put(column, value),
            (Values::Int32(column), Value::U32(value)) => put(column, Some(value as i32)),
            (Values::Int32(column), Value::I32(value)) => put(column, Some(value)),
            (Values::Int32(column), Value::OptionalU32(value)) => {
                put(column, value.map(|value| value as i32))
            }
            (Values::Int32(column), Value::OptionalI32(value)) => put(column, value),
            (Values::Bool(column), Value::Bool(value)) => put(column, Some(value)),
            (Values::Bool(column), Value::OptionalBool(value)) => put(column, value),
            (Values::Text(column), Value::Text(value)) => put(column, Some(shared(value, texts))),
            (Values::Text(column), Value::OptionalText(value)) => {
                put(column, value.map(|value| shared(value, texts)))
            }
            (_, value) => panic!("{value:?} is not of its column's kind"),
        };
        match &mut self.levels {
            Some(levels) => levels.push(is_there.into()),
            None => assert!(is_there, "a column that must not be null has a value in each row"),
        }
    }

    fn write(&mut self, group: &mut SerializedRowGroupWriter<'_, File>) -> Result<()> {
        let mut writer = group.next_column()?.ok_or_else(|| {
            ParquetError::General("the schema has fewer columns than a row".to_owned())
        })?;
        let levels = self.levels.as_deref();
        match &mut self.values {
            Values::Int64(values) => {
                writer.typed::<Int64Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Int32(values) => {
                writer.typed::<Int32Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Bool(values) => {
                writer.typed::<BoolType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Text(values) => {
                writer.typed::<ByteArrayType>().write_batch(values, levels, None)?;
                values.clear();
            }
        }
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        writer.close()
    }
}

/// Appends a value, where there is one; whether there is.
fn put<T>(column: &mut Vec<T>, value: Option<T>) -> bool {
    let is_there = value.is_some();
    column.extend(value);
    is_there
}

/// Few names come very often: a clone shares the bytes.
fn shared(value: &str, texts: &mut HashMap<String, ByteArray>) -> ByteArray {
    if let Some(text) = texts.get(value) {
        return text.clone();
    }
    let text = ByteArray::from(value);
    texts.insert(value.to_owned(), text.clone());
    text
}
