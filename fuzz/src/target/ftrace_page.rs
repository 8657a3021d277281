//! A page of the kernel's ring buffer, whose records are decoded by a real kernel's formats.
//!
//! The first byte chooses the machine: its byte order and the size of its words.

use super::Target;
use std::sync::LazyLock;
use tardy_ftrace::decode::Decoder;
use tardy_ftrace::format::{Endian, EventFormat};
use tardy_ftrace::page::PageLayout;
use tardy_kernel::{ClockOffsets, Symbols};
use tardy_model::{Batch, CpuId, Event};

pub(super) struct FtracePage;

/// The same kernel's, as for the tests of what decodes them.
const FORMATS: &str = include_str!("../../../diagnosis/sources/ftrace/tests/data/formats");

static LEARNED: LazyLock<Vec<(&'static str, EventFormat)>> = LazyLock::new(|| {
    let parts = FORMATS.split("group: ").skip(1);
    let format = |part: &'static str| {
        let (group, format) = part.split_once('\n')?;
        Some((group, EventFormat::parse(format).ok()?))
    };
    parts.map(|part| format(part).expect("a format of a real kernel")).collect()
});

impl Target for FtracePage {
    fn name(&self) -> &'static str {
        "ftrace-page"
    }

    fn run(&self, bytes: &[u8]) -> usize {
        let Some((machine, page)) = bytes.split_first() else { return 0 };
        let commit_bytes = if machine & 2 == 0 { 8 } else { 4 };
        let layout = PageLayout {
            endian: if machine & 1 == 0 { Endian::Little } else { Endian::Big },
            commit_offset: 8,
            commit_bytes,
            data_offset: 8 + commit_bytes,
            page_bytes: 4096,
        };
        let mut decoder =
            Decoder::new(layout.endian, ClockOffsets::default(), 4_000_000, Symbols::default());
        for (group, format) in &*LEARNED {
            decoder.learn(group, format);
        }
        let Some((_, events)) = layout.events(page) else { return 0 };
        let (mut batch, mut count) = (Batch::default(), 0);
        for event in events {
            decoder.decode(event.time_ns, CpuId(0), event.record, &mut batch);
            let _ = decoder.clock_reading(event.record);
            count += 1;
        }
        assert!(count * 4 <= page.len(), "an event has a head of 4 bytes");
        for event in &batch.events {
            let again = Event::new(event.time_ns, event.cpu, event.task, event.kind());
            assert_eq!(again.kind(), event.kind(), "it does not come back from its record");
        }
        let _ = (decoder.notes(), decoder.missing());
        batch.events.len()
    }
}
