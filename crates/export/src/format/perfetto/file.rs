//! The file, packet by packet.

use crate::ExportError;
use prost::Message;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tardy_perfetto::TracePacket;

/// The tag of a field with a length: of a packet in a trace, and of a bundle in a packet.
const FIELD_1: u8 = 0x0a;

/// A trace that is written.
pub(super) struct File {
    path: PathBuf,
    out: BufWriter<fs::File>,
    packet: Vec<u8>,
}

impl File {
    pub(super) fn create(path: &Path) -> Result<Self, ExportError> {
        let file = fs::File::create(path)
            .map_err(|source| ExportError::Io { path: path.to_owned(), source })?;
        let out = BufWriter::with_capacity(1 << 18, file);
        Ok(Self { path: path.to_owned(), out, packet: Vec::new() })
    }

    /// Writes a packet.
    pub(super) fn packet(&mut self, packet: &TracePacket) -> Result<(), ExportError> {
        self.packet.clear();
        put(packet.encode(&mut self.packet));
        self.write()
    }

    /// Writes a packet with a bundle whose message is in two parts.
    pub(super) fn bundle(
        &mut self,
        packet: &TracePacket,
        bundle: [&[u8]; 2],
    ) -> Result<(), ExportError> {
        self.packet.clear();
        put(packet.encode(&mut self.packet));
        self.packet.push(FIELD_1);
        let length = bundle[0].len() + bundle[1].len();
        put(prost::encode_length_delimiter(length, &mut self.packet));
        self.packet.extend(bundle[0]);
        self.packet.extend(bundle[1]);
        self.write()
    }

    fn write(&mut self) -> Result<(), ExportError> {
        let mut head = vec![FIELD_1];
        put(prost::encode_length_delimiter(self.packet.len(), &mut head));
        let written = self.out.write_all(&head).and_then(|()| self.out.write_all(&self.packet));
        written.map_err(|source| ExportError::Io { path: self.path.clone(), source })
    }

    /// All has been written.
    pub(super) fn finish(mut self) -> Result<(), ExportError> {
        self.out.flush().map_err(|source| ExportError::Io { path: self.path, source })
    }
}

/// Encoding into memory that grows does not fail.
pub(super) fn put(encoded: Result<(), prost::EncodeError>) {
    debug_assert!(encoded.is_ok(), "there is room");
}
