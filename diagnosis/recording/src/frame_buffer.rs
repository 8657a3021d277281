//! A frame that is being filled, and its bytes once it is full.

use crate::format::{Encoding, FRAME_BYTES_MAX, FRAME_HEADER_BYTES, FrameHeader, FrameKind};
use crate::payload::{name_bytes, put_name, timer_to_bytes};
use tardy_model::{Event, NameId, RECORD_BYTES, TimerDef};

/// One frame in the making: a header's room and a plain payload, in one piece so that it goes out
/// with one write.
pub(crate) struct FrameBuffer {
    bytes: Vec<u8>,
    kind: FrameKind,
    count: u32,
}

impl FrameBuffer {
    pub(crate) fn new() -> Self {
        let mut bytes = Vec::with_capacity(FRAME_HEADER_BYTES + FRAME_BYTES_MAX);
        bytes.resize(FRAME_HEADER_BYTES, 0);
        Self { bytes, kind: FrameKind::Events, count: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether an entry of `kind` with `len` bytes has no place in this frame any more.
    pub(crate) fn must_close_for(&self, kind: FrameKind, len: usize) -> bool {
        !self.is_empty() && (self.kind != kind || self.room() < len)
    }

    /// Takes as many events as have room; returns how many.
    pub(crate) fn push_events(&mut self, events: &[Event]) -> usize {
        self.begin(FrameKind::Events);
        let taken = events.len().min(self.room() / RECORD_BYTES);
        for event in &events[..taken] {
            self.bytes.extend_from_slice(&event.to_bytes());
        }
        self.count += taken as u32;
        taken
    }

    pub(crate) fn push_name(&mut self, id: NameId, name: &str) {
        assert!(self.room() >= name_bytes(name));
        self.begin(FrameKind::Names);
        put_name(&mut self.bytes, id, name);
        self.count += 1;
    }

    pub(crate) fn push_timer(&mut self, timer: &TimerDef) {
        self.begin(FrameKind::Timers);
        self.push_entries(FrameKind::Timers, &timer_to_bytes(timer), 1);
    }

    /// Takes entries that are encoded already; there must be room for them.
    pub(crate) fn push_entries(&mut self, kind: FrameKind, entries: &[u8], count: u32) {
        assert!(self.room() >= entries.len());
        self.begin(kind);
        self.bytes.extend_from_slice(entries);
        self.count += count;
    }

    /// Completes the header; the whole frame as it goes to the file.
    pub(crate) fn close(&mut self) -> &[u8] {
        let len = self.bytes.len() - FRAME_HEADER_BYTES;
        let header = self.header(Encoding::Plain, len);
        let head = header.encode(&self.bytes[FRAME_HEADER_BYTES..]);
        self.bytes[..FRAME_HEADER_BYTES].copy_from_slice(&head);
        &self.bytes
    }

    /// Puts the frame into `out`, compressed; plain where that is not smaller.
    pub(crate) fn close_compressed(
        &mut self,
        compressor: &mut zstd::bulk::Compressor<'_>,
        out: &mut Vec<u8>,
    ) {
        let plain = &self.bytes[FRAME_HEADER_BYTES..];
        out.clear();
        // No longer than the plain frame, so that what would not be smaller fails, cheaply.
        out.resize(self.bytes.len(), 0);
        match compressor.compress_to_buffer(plain, &mut out[FRAME_HEADER_BYTES..]) {
            Ok(len) if len < plain.len() => {
                out.truncate(FRAME_HEADER_BYTES + len);
                let head = self.header(Encoding::Zstd, len).encode(&out[FRAME_HEADER_BYTES..]);
                out[..FRAME_HEADER_BYTES].copy_from_slice(&head);
            }
            _ => out.copy_from_slice(self.close()),
        }
    }

    /// Empties it and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.truncate(FRAME_HEADER_BYTES);
        self.count = 0;
    }

    fn begin(&mut self, kind: FrameKind) {
        assert!(self.is_empty() || self.kind == kind, "a frame holds entries of one kind");
        self.kind = kind;
    }

    fn header(&self, encoding: Encoding, payload_len: usize) -> FrameHeader {
        let plain_len = self.bytes.len() - FRAME_HEADER_BYTES;
        FrameHeader { kind: self.kind, encoding, payload_len, plain_len, count: self.count }
    }

    fn room(&self) -> usize {
        FRAME_HEADER_BYTES + FRAME_BYTES_MAX - self.bytes.len()
    }
}
