//! What is done to a segment once nothing more comes: compressed, and on stable storage.
//!
//! Not while recording: a million events a second are 32 MB/s, and compressing those (60 ns per
//! event at zstd's level 1) takes a sixteenth of a core from the very system that is being measured.
//! Columns in place of records were tried: half the size again, and no faster to read.

use crate::atomic_file;
use crate::format::encode_file_header;
use crate::frame_buffer::FrameBuffer;
use crate::frame_reader::{FrameReader, Stop};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// zstd's fastest regular level.
const LEVEL: i32 = 1;

/// Rewrites a plain segment with its frames merged and compressed; returns the new size in bytes.
/// Whatever fails, the plain file is still there.
pub(crate) fn compress(path: &Path, number: u32) -> io::Result<u64> {
    let temporary = atomic_file::temporary_path(path);
    let compressed = write_compressed(path, number, &temporary)
        .and_then(|(file, bytes)| atomic_file::commit(&file, &temporary, path).map(|()| bytes));
    if compressed.is_err() {
        // Best effort; readers pass over it.
        let _ = fs::remove_file(&temporary);
    }
    compressed
}

/// Brings a segment to stable storage as it is.
pub(crate) fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn write_compressed(path: &Path, number: u32, temporary: &Path) -> io::Result<(File, u64)> {
    let mut reader = FrameReader::new()?;
    reader.open(path, number).map_err(to_io)?;
    let mut output = Output {
        file: File::create(temporary)?,
        bytes: 0,
        compressor: zstd::bulk::Compressor::new(LEVEL)?,
        packed: Vec::new(),
    };
    output.write(&encode_file_header(number))?;
    let mut merged = FrameBuffer::new();
    while let Some(frame) = reader.next().map_err(to_io)? {
        if merged.must_close_for(frame.kind, frame.payload.len()) {
            output.write_frame(&mut merged)?;
        }
        merged.push_entries(frame.kind, frame.payload, frame.count);
    }
    if !merged.is_empty() {
        output.write_frame(&mut merged)?;
    }
    Ok((output.file, output.bytes))
}

struct Output {
    file: File,
    bytes: u64,
    compressor: zstd::bulk::Compressor<'static>,
    packed: Vec<u8>,
}

impl Output {
    fn write_frame(&mut self, frame: &mut FrameBuffer) -> io::Result<()> {
        let mut packed = std::mem::take(&mut self.packed);
        frame.close_compressed(&mut self.compressor, &mut packed);
        frame.clear();
        self.write(&packed)?;
        self.packed = packed;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes)
    }
}

fn to_io(stop: Stop) -> io::Error {
    match stop {
        Stop::Flaw(flaw) => io::Error::new(io::ErrorKind::InvalidData, flaw),
        Stop::Io(error) => error,
    }
}
