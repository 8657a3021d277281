//! A Parquet file while it is written: under a temporary name until it is whole.

use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnDescPtr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tardy_files::{Folder, NewFile};

/// Dropped before it is committed, it leaves nothing.
pub(crate) struct TableFile {
    path: PathBuf,
    /// `None` once it has its name.
    whole: Option<NewFile>,
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
    /// Begins the file `name` in a folder, with a schema in Parquet's message language.
    pub(crate) fn create(
        folder: &Folder,
        name: &str,
        schema: &str,
        properties: WriterProperties,
    ) -> Result<Self> {
        let schema = Arc::new(parse_message_type(schema)?);
        let whole = folder.begin(name, folder.access()?)?;
        let writer = SerializedFileWriter::new(whole.file()?, schema, Arc::new(properties))?;
        Ok(Self { path: folder.path().join(name), whole: Some(whole), writer: Some(writer) })
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
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.writer.take().ok_or_else(ended)?.into_inner().map(drop)
    }

    /// Gives the finished file its name, in place of an older one.
    pub(crate) fn commit(&mut self) -> Result<()> {
        Ok(self.whole.take().ok_or_else(ended)?.keep()?)
    }
}

fn ended() -> ParquetError {
    ParquetError::General("the file has been finished already".to_owned())
}
