//! The frames of one segment file, each checked before any of it is used.
//!
//! Files are read with `pread` into buffers of fixed size, not mapped: a mapped file that is cut
//! short under us kills the process with SIGBUS, and a recording on a failing disk or a network
//! share is just what one wants to look into.

use crate::format::{
    Encoding, FILE_HEADER_BYTES, FRAME_HEADER_BYTES, FrameHeader, FrameKind, check_file_header,
    segment_name,
};
use crate::torn::Flaw;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use tardy_files::Folder;

/// Reads one segment after the other with the same two buffers.
pub(crate) struct FrameReader {
    file: Option<File>,
    /// How long the file was when somebody asked last: it may be one that is still written.
    bytes: u64,
    /// Where the frame read last begins.
    start: u64,
    /// Where the next one does.
    next: u64,
    /// Both grow to what frames take, which is bounded.
    packed: Vec<u8>,
    plain: Vec<u8>,
    /// Its tables are larger than most frames: made with the first that is packed.
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
}

/// A frame that is good.
pub(crate) struct Frame<'a> {
    pub(crate) kind: FrameKind,
    pub(crate) count: u32,
    pub(crate) payload: &'a [u8],
}

/// Why there is no next frame though the file has not ended well.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The bytes are not good.
    Flaw(Flaw),
    /// The disk did not give them.
    Io(io::Error),
}

impl From<Flaw> for Stop {
    fn from(flaw: Flaw) -> Self {
        Self::Flaw(flaw)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl FrameReader {
    pub(crate) fn new() -> Self {
        Self {
            file: None,
            bytes: 0,
            start: 0,
            next: 0,
            packed: Vec::new(),
            plain: Vec::new(),
            decompressor: None,
        }
    }

    /// Goes to the first frame of segment `number` in the folder of segments.
    pub(crate) fn open(&mut self, folder: &Folder, number: u32) -> Result<(), Stop> {
        self.start = 0;
        self.bytes = 0;
        self.file = None;
        let file = match folder.file(segment_name(number)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Flaw::Missing.into());
            }
            other => other?,
        };
        let mut header = [0; FILE_HEADER_BYTES];
        if read_at(&file, 0, &mut header)? < header.len() {
            return Err(Flaw::EndsEarly.into());
        }
        check_file_header(&header, number)?;
        self.next = FILE_HEADER_BYTES as u64;
        self.file = Some(file);
        Ok(())
    }

    /// The offset of the frame read last; after a [`Stop`], of the one that is not good; at the end,
    /// of the end.
    pub(crate) fn at(&self) -> u64 {
        self.start
    }

    /// The next frame; `None` where the file ends after the last.
    pub(crate) fn next(&mut self) -> Result<Option<Frame<'_>>, Stop> {
        let Some(file) = &self.file else { return Ok(None) };
        self.start = self.next;
        let mut head = [0; FRAME_HEADER_BYTES];
        match read_at(file, self.start, &mut head)? {
            0 => return Ok(None),
            FRAME_HEADER_BYTES => {}
            _ => return Err(Flaw::EndsEarly.into()),
        }
        let header = FrameHeader::decode(&head)?;
        // What is not there gets no memory.
        let end = self.start + (FRAME_HEADER_BYTES + header.payload_len) as u64;
        if end > self.bytes {
            self.bytes = file.metadata()?.len();
        }
        if end > self.bytes {
            return Err(Flaw::EndsEarly.into());
        }
        let buffer = match header.encoding {
            Encoding::Plain => &mut self.plain,
            Encoding::Zstd => &mut self.packed,
        };
        let payload = room(buffer, header.payload_len);
        if read_at(file, self.start + FRAME_HEADER_BYTES as u64, payload)? < payload.len() {
            return Err(Flaw::EndsEarly.into());
        }
        FrameHeader::check(&head, payload)?;
        if header.encoding == Encoding::Zstd {
            // Memory that is written over need not be cleared.
            self.plain.clear();
            self.plain.reserve(header.plain_len);
            let packed = &self.packed[..header.payload_len];
            let decompressor = match &mut self.decompressor {
                Some(decompressor) => decompressor,
                none => none.insert(zstd::bulk::Decompressor::new().map_err(Stop::Io)?),
            };
            match decompressor.decompress_to_buffer(packed, &mut self.plain) {
                Ok(len) if len == header.plain_len => {}
                _ => return Err(Flaw::Content.into()),
            }
        }
        self.next = end;
        let payload = &self.plain[..header.plain_len];
        Ok(Some(Frame { kind: header.kind, count: header.count, payload }))
    }
}

/// The first `bytes` bytes of a buffer, which grows to have them; what a header says is bounded before.
fn room(buffer: &mut Vec<u8>, bytes: usize) -> &mut [u8] {
    if buffer.len() < bytes {
        buffer.resize(bytes, 0);
    }
    &mut buffer[..bytes]
}

/// Fills `buffer` from offset `at`; returns how much of it the file had.
fn read_at(file: &File, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < buffer.len() {
        match file.read_at(&mut buffer[len..], at + len as u64) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}
