//! A column of few distinct values in a row group: a dictionary page, then the values' numbers in it.
//!
//! The parquet crate's writers look up each value in a dictionary of their own. Here every value is a
//! number long before it is written, so its pages are made from the numbers and spliced in.

use super::hybrid;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::fs::File;
use std::io;
use zstd::bulk::Compressor;

/// Numbers of more bits are compressed by a fifth at most, and compressing them takes as long as packing them.
const COMPRESSED_BITS_MAX: u32 = 5;

/// The distinct values of a column in one row group, as its dictionary page holds them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dictionary {
    /// The values one after the other, in Parquet's plain encoding.
    plain: Vec<u8>,
    count: u32,
}

impl Dictionary {
    /// Appends a text that is not in it; its number.
    pub(super) fn push_text(&mut self, text: &str) -> u32 {
        self.plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
        self.push(text.as_bytes())
    }

    /// Appends a number that is not in it; its number here.
    pub(super) fn push_u32(&mut self, value: u32) -> u32 {
        self.push(&value.to_le_bytes())
    }

    fn push(&mut self, bytes: &[u8]) -> u32 {
        self.plain.extend_from_slice(bytes);
        self.count += 1;
        self.count - 1
    }

    /// Bytes of the page.
    pub(super) fn bytes(&self) -> usize {
        self.plain.len()
    }

    pub(super) fn clear(&mut self) {
        self.plain.clear();
        self.count = 0;
    }
}

/// Writes such columns.
pub(super) struct ChunkWriter {
    compressor: Compressor<'static>,
    /// Room for a page.
    page: Vec<u8>,
}

impl ChunkWriter {
    pub(super) fn new() -> io::Result<Self> {
        let compressor = Compressor::new(ZstdLevel::default().compression_level())?;
        Ok(Self { compressor, page: Vec::new() })
    }

    /// Writes the next column of a group. `numbers` are those of the values in `dictionary`; where
    /// some rows have no value, `levels` has a 1 for each row that has one and a 0 for each other.
    pub(super) fn write(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, File>,
        column: &ColumnDescPtr,
        dictionary: &Dictionary,
        numbers: &[u32],
        levels: Option<&[u32]>,
    ) -> Result<()> {
        let rows = levels.map_or(numbers.len(), <[u32]>::len);
        self.page.clear();
        if let Some(levels) = levels {
            self.page.extend_from_slice(&[0; 4]);
            hybrid::encode(levels, 1, &mut self.page);
            let length = (self.page.len() - 4) as u32;
            self.page[..4].copy_from_slice(&length.to_le_bytes());
        }
        let bits = hybrid::bits_for(dictionary.count as usize);
        self.page.push(bits as u8);
        hybrid::encode(numbers, bits, &mut self.page);

        let is_noise = bits > COMPRESSED_BITS_MAX;
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let compression = if is_noise { Compression::UNCOMPRESSED } else { zstd };
        let mut packed = |page: &[u8]| {
            if is_noise {
                Ok(Bytes::copy_from_slice(page))
            } else {
                self.compressor.compress(page).map(Bytes::from)
            }
        };
        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let first = pages.write_page(CompressedPage::new(
            Page::DictionaryPage {
                buf: packed(&dictionary.plain)?,
                num_values: dictionary.count,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            },
            dictionary.plain.len(),
        ))?;
        let second = pages.write_page(CompressedPage::new(
            Page::DataPage {
                buf: packed(&self.page)?,
                num_values: rows as u32,
                encoding: Encoding::RLE_DICTIONARY,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            },
            self.page.len(),
        ))?;
        let used = |page_type, encoding| PageEncodingStats { page_type, encoding, count: 1 };
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_compression(compression)
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_page_encoding_stats(vec![
                used(PageType::DICTIONARY_PAGE, Encoding::PLAIN),
                used(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY),
            ])
            .set_total_compressed_size((first.compressed_size + second.compressed_size) as i64)
            .set_total_uncompressed_size(
                (first.uncompressed_size + second.uncompressed_size) as i64,
            )
            .set_num_values(rows as i64)
            .set_dictionary_page_offset(Some(first.offset as i64))
            .set_data_page_offset(second.offset as i64)
            .build()?;
        let bytes = Bytes::from(sink.into_inner()?);
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&bytes, close)
    }
}
