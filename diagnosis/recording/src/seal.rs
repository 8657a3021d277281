//! What is done to a segment once nothing more comes: compressed, and on stable storage.
//!
//! Not while recording: a million events a second are 32 MB/s, and compressing those (60 ns per
//! event at zstd's level 1) takes a sixteenth of a core from the very system that is being measured.
//! Columns in place of records were tried: half the size again, and no faster to read.

use crate::format::{encode_file_header, segment_name};
use crate::frame_buffer::FrameBuffer;
use crate::frame_reader::{FrameReader, Stop};
use std::io::{self, Write as _};
use tardy_files::{Access, Folder, NewFile};

/// zstd's fastest regular level.
const LEVEL: i32 = 1;

/// Rewrites a plain segment with its frames merged and compressed; returns the new size in bytes.
/// Whatever fails, the plain file is still there.
pub(crate) fn compress(folder: &Folder, number: u32) -> io::Result<u64> {
    let mut reader = FrameReader::new();
    reader.open(folder, number).map_err(to_io)?;
    let mut output = Output {
        file: folder.begin(segment_name(number), Access::Private)?,
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
    output.file.keep()?;
    Ok(output.bytes)
}

/// Brings a segment to stable storage as it is; returns its size in bytes.
pub(crate) fn sync(folder: &Folder, number: u32) -> io::Result<u64> {
    let file = folder.file(segment_name(number))?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

struct Output {
    file: NewFile,
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
