//! The file, packet by packet.

use crate::ExportError;
use crate::output::Output;
use prost::Message;
use std::path::Path;
use tardy_perfetto::TracePacket;

/// The tag of a field with a length: of a packet in a trace, and of a bundle in a packet.
const FIELD_1: u8 = 0x0a;

/// A trace that is written.
pub(super) struct File {
    out: Output,
    packet: Vec<u8>,
}

impl File {
    pub(super) fn create(path: &Path) -> Result<Self, ExportError> {
        Ok(Self { out: Output::create(path)?, packet: Vec::new() })
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
        let packet = &self.packet;
        self.out.put(|out| out.write_all(&head).and_then(|()| out.write_all(packet)))
    }

    /// All has been written.
    pub(super) fn finish(self) -> Result<(), ExportError> {
        self.out.finish()
    }
}

/// Encoding into memory that grows does not fail.
pub(super) fn put(encoded: Result<(), prost::EncodeError>) {
    debug_assert!(encoded.is_ok(), "there is room");
}
