//! A Parquet file while it is written: under a temporary name until it is whole.

use crate::atomic_file;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnDescPtr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Dropped before it is committed, it leaves nothing.
pub(crate) struct TableFile {
    path: PathBuf,
    temporary: PathBuf,
    /// `None` once the file is whole.
    writer: Option<SerializedFileWriter<File>>,
}

/// What all tables have in common.
pub(crate) fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("tardy ", env!("CARGO_PKG_VERSION")).to_owned())
}

impl TableFile {
    /// Begins the file at `path` with a schema in Parquet's message language.
    pub(crate) fn create(
        path: PathBuf,
        schema: &str,
        properties: WriterProperties,
    ) -> Result<Self> {
        let schema = Arc::new(parse_message_type(schema)?);
        let temporary = atomic_file::temporary_path(&path);
        let file = File::create(&temporary)?;
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
        Ok(Self { path, temporary, writer: Some(writer) })
    }

    /// Where it will be.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What is known of each column.
    pub(crate) fn columns(&self) -> Result<Vec<ColumnDescPtr>> {
        Ok(self.writer.as_ref().ok_or_else(ended)?.schema_descr().columns().to_vec())
    }

    pub(crate) fn next_row_group(&mut self) -> Result<SerializedRowGroupWriter<'_, File>> {
        self.writer.as_mut().ok_or_else(ended)?.next_row_group()
    }

    /// Writes the file's footer; the file has its name after [`TableFile::commit`].
    pub(crate) fn finish(&mut self) -> Result<File> {
        self.writer.take().ok_or_else(ended)?.into_inner()
    }

    /// Gives the finished file its name, in place of an older one.
    pub(crate) fn commit(&self, file: &File) -> Result<()> {
        Ok(atomic_file::commit(file, &self.temporary, &self.path)?)
    }
}

impl Drop for TableFile {
    fn drop(&mut self) {
        // After a commit there is no such file; otherwise it is of no use to anyone.
        let _ = fs::remove_file(&self.temporary);
    }
}

fn ended() -> ParquetError {
    ParquetError::General("the file has been finished already".to_owned())
}
