//! What a kernel says of its events and pages: `events/*/*/format`, `events/header_page`, kallsyms.
//!
//! What is behind a line `RECORD` is a record of that event.

use super::Target;
use tardy_ftrace::decode::{Decoder, EventId};
use tardy_ftrace::format::{Endian, EventFormat};
use tardy_ftrace::page::{PAGE_BYTES_MAX, PageLayout};
use tardy_kernel::{ClockOffsets, Symbols};
use tardy_model::{Batch, CpuId};

pub(super) struct EventFormats;

/// Ends the text.
const RECORD: &[u8] = b"\nRECORD\n";

impl Target for EventFormats {
    fn name(&self) -> &'static str {
        "event-format"
    }

    fn run(&self, bytes: &[u8]) -> usize {
        let end = bytes.windows(RECORD.len()).position(|window| window == RECORD);
        let text = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]);
        let record = end.map_or(&[][..], |end| &bytes[end + RECORD.len()..]);
        let mut found = 0;
        for endian in [Endian::Little, Endian::Big] {
            if let Ok(layout) = PageLayout::parse(&text, endian) {
                found += 1;
                assert!(layout.page_bytes <= PAGE_BYTES_MAX);
                assert!(layout.commit_offset + layout.commit_bytes <= layout.data_offset);
                if let Some((_, events)) = layout.events(record) {
                    assert!(events.count() * 4 <= record.len());
                }
            }
        }
        let Ok(format) = EventFormat::parse(&text) else { return found };
        for endian in [Endian::Little, Endian::Big] {
            for field in &format.fields {
                let _ = (field.number(record, endian), field.is_number());
            }
            let mut decoder =
                Decoder::new(endian, ClockOffsets::default(), 4_000_000, Symbols::from_text(&text));
            let Some(id) = EventId::of(&format.name) else { continue };
            if decoder.learn(id.group(), &format) {
                let mut batch = Batch::default();
                for time_ns in 0..3 {
                    decoder.decode(time_ns, CpuId(0), record, &mut batch);
                }
                found += 1;
            }
        }
        found
    }
}
