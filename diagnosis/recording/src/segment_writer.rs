//! Batches become frames, frames become segment files.

use crate::format::{
    FILE_HEADER_BYTES, FRAME_BYTES_MAX, FRAME_HEADER_BYTES, FrameKind, SEGMENT_BYTES_MAX,
    TIMER_BYTES, encode_file_header, segment_name,
};
use crate::frame_buffer::FrameBuffer;
use crate::manifest::Totals;
use crate::payload::{kept_name, name_bytes};
use crate::write_error::WriteError;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use tardy_files::{Access, Folder};
use tardy_model::{Batch, Event, Kind};

/// Bytes given to the kernel in one call. A kernel without preemption runs nobody else on this CPU
/// until the call returns: a frame at once was seen to keep a FIFO thread waiting for 2 ms, and the
/// recording itself was the largest culprit in it.
const WRITE_BYTES: usize = 16 << 10;

/// Appends to the newest of a recording's segments and begins the next when it is full.
pub(crate) struct SegmentWriter {
    folder: Folder,
    segment_bytes_max: u64,
    number: u32,
    file: File,
    path: PathBuf,
    /// Bytes of whole frames in the file.
    file_bytes: u64,
    frame: FrameBuffer,
    /// What `frame` adds to the totals once it is written.
    in_frame: Totals,
    totals: Totals,
}

impl SegmentWriter {
    /// Begins segment 0 in `folder`.
    pub(crate) fn create(folder: Folder, segment_bytes_max: u64) -> Result<Self, WriteError> {
        let least = (FILE_HEADER_BYTES + FRAME_HEADER_BYTES + FRAME_BYTES_MAX) as u64;
        let (file, path) = create_segment(&folder, 0)?;
        Ok(Self {
            folder,
            segment_bytes_max: segment_bytes_max.clamp(least, SEGMENT_BYTES_MAX),
            number: 0,
            file,
            path,
            file_bytes: FILE_HEADER_BYTES as u64,
            frame: FrameBuffer::new(),
            in_frame: Totals::default(),
            totals: Totals { bytes: FILE_HEADER_BYTES as u64, ..Totals::default() },
        })
    }

    /// Takes a batch. Part of it may stay in memory until [`SegmentWriter::flush`].
    pub(crate) fn add(&mut self, batch: &Batch) -> Result<(), WriteError> {
        for (id, name) in &batch.names {
            let name = kept_name(name);
            self.make_room(FrameKind::Names, name_bytes(name))?;
            self.frame.push_name(*id, name);
        }
        for timer in &batch.timers {
            self.make_room(FrameKind::Timers, TIMER_BYTES)?;
            self.frame.push_timer(timer);
        }
        let mut events = &batch.events[..];
        while !events.is_empty() {
            self.make_room(FrameKind::Events, tardy_model::RECORD_BYTES)?;
            let (taken, rest) = events.split_at(self.frame.push_events(events));
            count_events(&mut self.in_frame, taken);
            events = rest;
        }
        Ok(())
    }

    /// Hands everything taken so far to the kernel.
    pub(crate) fn flush(&mut self) -> Result<(), WriteError> {
        if self.frame.is_empty() {
            return Ok(());
        }
        let bytes = self.frame.close();
        let len = bytes.len() as u64;
        if self.file_bytes + len > self.segment_bytes_max {
            let number = self.number + 1;
            (self.file, self.path) = create_segment(&self.folder, number)?;
            self.number = number;
            self.file_bytes = FILE_HEADER_BYTES as u64;
            self.totals.bytes += FILE_HEADER_BYTES as u64;
        }
        let written = bytes.chunks(WRITE_BYTES).try_for_each(|piece| self.file.write_all(piece));
        if let Err(error) = written {
            // Part of the frame may be there. Without it the file is whole again; if that fails
            // too, a reader finds the torn frame and stops before it.
            let _ = self.file.set_len(self.file_bytes);
            return Err(WriteError::write(&self.path, error));
        }
        self.file_bytes += len;
        self.totals.bytes += len;
        let in_frame = std::mem::take(&mut self.in_frame);
        if self.totals.events == 0 {
            self.totals.first_ns = in_frame.first_ns;
        }
        if in_frame.events > 0 {
            self.totals.last_ns = in_frame.last_ns;
        }
        self.totals.events += in_frame.events;
        self.totals.lost += in_frame.lost;
        self.frame.clear();
        Ok(())
    }

    /// What is in the files.
    pub(crate) fn totals(&self) -> Totals {
        self.totals
    }

    /// How many files there are.
    pub(crate) fn segments(&self) -> u32 {
        self.number + 1
    }

    fn make_room(&mut self, kind: FrameKind, len: usize) -> Result<(), WriteError> {
        if self.frame.must_close_for(kind, len) { self.flush() } else { Ok(()) }
    }
}

fn create_segment(folder: &Folder, number: u32) -> Result<(File, PathBuf), WriteError> {
    let name = segment_name(number);
    let path = folder.path().join(&name);
    let created = folder.create_new(&name, Access::Private);
    let mut file = created.map_err(|error| WriteError::create(&path, error))?;
    if let Err(error) = file.write_all(&encode_file_header(number)) {
        // Best effort: a segment without its header tells a reader nothing.
        let _ = folder.remove(&name);
        return Err(WriteError::write(&path, error));
    }
    Ok((file, path))
}

fn count_events(totals: &mut Totals, events: &[Event]) {
    let (Some(first), Some(last)) = (events.first(), events.last()) else { return };
    if totals.events == 0 {
        totals.first_ns = first.time_ns;
    }
    totals.last_ns = last.time_ns;
    totals.events += events.len() as u64;
    for event in events {
        if let Kind::Loss(loss) = event.kind() {
            totals.lost += loss.at_least();
        }
    }
}
