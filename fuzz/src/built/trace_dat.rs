//! `trace.dat`: records of a real kernel's events, in pages, in a file, whose numbers are right.
//!
//! The first byte chooses the version and whether sections are packed. Then each byte says what comes next: one of the
//! kernel's events, with as much content as follows, or what else pages and files hold ([`Part`]).

use super::dat_file::{Content, OPTIONS, PAGE_BYTES, grouped, version_6, version_7};
use super::{BYTES_MAX, Taker};
use std::sync::LazyLock;
use tardy_ftrace::format::EventFormat;

const FORMATS: &str = include_str!("../../../diagnosis/sources/ftrace/tests/data/formats");
const KALLSYMS: &str = include_str!("../../../diagnosis/sources/ftrace/tests/data/kallsyms");

/// An event: its group and format as text, its number, the bytes of a record.
struct Known {
    text: &'static str,
    id: u16,
    bytes: usize,
}

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let known = |text: &'static str| {
        let format = EventFormat::parse(text.split_once('\n')?.1).ok()?;
        let ends = format.fields.iter().map(|field| field.offset + field.size);
        Some(Known { text, id: format.id, bytes: ends.max().unwrap_or(0).max(8) as usize })
    };
    FORMATS.split("group: ").skip(1).filter_map(known).collect()
});

/// What is no record: bytes from here on.
const PARTS: u8 = 0xe0;

/// Of the ring buffer: the time goes on; the time is; nothing is here.
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
const PADDING: u32 = 29;

/// The longest record whose length is in its head, in words.
const WORDS_MAX: usize = 28;

/// A page's head, and in its length that events are missing before it, with and without their number.
const HEAD_BYTES: usize = 16;
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;

/// The pages of a CPU, of which the last is being filled.
#[derive(Default)]
struct Lane {
    pages: Vec<u8>,
    now_ns: u64,
    page: Vec<u8>,
    page_ns: u64,
    missed: u64,
}

impl Lane {
    fn put(&mut self, bytes: &[u8]) {
        if HEAD_BYTES + self.page.len() + bytes.len() > PAGE_BYTES {
            self.end_page();
        }
        if HEAD_BYTES + bytes.len() <= PAGE_BYTES {
            self.page.extend(bytes);
        }
    }

    fn record(&mut self, delta_ns: u64, bytes: &[u8]) {
        let delta_ns = delta_ns.min((1 << 27) - 1);
        self.now_ns = self.now_ns.wrapping_add(delta_ns);
        let words = bytes.len().div_ceil(4);
        let head = (delta_ns as u32) << 5;
        let mut record = if words <= WORDS_MAX {
            (head | words as u32).to_le_bytes().to_vec()
        } else {
            [head, 4 + bytes.len() as u32].map(u32::to_le_bytes).concat()
        };
        record.extend(bytes);
        record.resize(record.len().next_multiple_of(4), 0);
        self.put(&record);
    }

    fn end_page(&mut self) {
        let length = self.page.len() as u64 | self.missed;
        self.pages.extend(self.page_ns.to_le_bytes());
        self.pages.extend(length.to_le_bytes());
        self.pages.append(&mut self.page);
        self.pages.resize(self.pages.len().next_multiple_of(PAGE_BYTES), 0);
        (self.page_ns, self.missed) = (self.now_ns, 0);
    }
}

/// Builds a file.
pub fn trace_dat(how: &[u8]) -> Vec<u8> {
    let mut how = Taker::new(how);
    let kind = how.byte();
    let mut lanes = [Lane::default(), Lane::default()];
    let mut formats = Vec::new();
    let (mut names, mut kallsyms) = (&b"1 systemd\n7 ksoftirqd/0\n"[..], None);
    let mut options = OPTIONS.to_vec();
    let mut changed = Vec::new();
    while let Some(choice) = how.more() {
        if lanes.iter().map(|lane| lane.pages.len()).sum::<usize>() > BYTES_MAX {
            break;
        }
        let lane = how.byte();
        let at = usize::from(lane & 1);
        let lane = &mut lanes[at];
        if choice < PARTS {
            let known = &KNOWN[usize::from(choice) % KNOWN.len()];
            if !formats.contains(&known.text) {
                formats.push(known.text);
            }
            let delta_ns = how.number();
            let mut record = [&known.id.to_le_bytes()[..], &[0; 2]].concat();
            record.extend(u32::from(how.byte()).to_le_bytes());
            record.extend(how.some());
            // Shorter or longer than its format says, where that is asked for.
            if how.byte() < 0xf0 {
                record.resize(known.bytes, 0);
            }
            lane.record(delta_ns, &record);
            continue;
        }
        match choice % 8 {
            part @ 0..=1 => {
                let number = how.number();
                let kind = if part == 0 { TIME_EXTEND } else { TIME_STAMP };
                lane.now_ns = if part == 0 { lane.now_ns.wrapping_add(number) } else { number };
                let low = (number as u32 & ((1 << 27) - 1)) << 5 | kind;
                lane.put(&[low, (number >> 27) as u32].map(u32::to_le_bytes).concat());
            }
            2 => {
                let bytes = how.byte();
                lane.put(&[PADDING, bytes.into()].map(u32::to_le_bytes).concat());
            }
            3 => {
                lane.end_page();
                lane.missed = [MISSED, MISSED | MISSED_STORED][usize::from(how.byte() & 1)];
            }
            4 => options.push((how.two() & 0x1f, how.some())),
            5 => names = how.some(),
            6 => kallsyms = Some(String::from_utf8_lossy(how.some()).into_owned()),
            _ => changed.push((how.byte(), how.two(), how.byte())),
        }
    }
    let cpus = lanes.map(|mut lane| {
        lane.end_page();
        lane.pages
    });
    let texts: Vec<String> = formats.iter().map(|text| with(text, &changed)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let content = Content {
        formats: grouped(&texts),
        kallsyms: kallsyms.as_deref().unwrap_or(KALLSYMS),
        names,
        options,
        cpus: cpus.into(),
    };
    match kind % 4 {
        0 | 2 => version_6(&content),
        1 => version_7(&content, "none", <[u8]>::to_vec),
        _ => version_7(&content, "zstd", stored),
    }
}

/// A format with some of its letters changed.
fn with(text: &str, changed: &[(u8, u16, u8)]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let name = text.len();
    for (which, at, to) in changed {
        // The same changes go to the same formats, whichever others there are.
        if usize::from(*which) % 8 == name % 8 {
            let at = usize::from(*at) % bytes.len();
            bytes[at] = to % 0x80;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A zstd frame that holds bytes as they are: RFC 8878, 3.1.1.
fn stored(plain: &[u8]) -> Vec<u8> {
    /// A block may have so many.
    const BLOCK_BYTES: usize = 128 << 10;
    // One segment, whose size is told in 4 bytes.
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    out.extend((plain.len() as u32).to_le_bytes());
    let blocks = plain.len().div_ceil(BLOCK_BYTES).max(1);
    for number in 0..blocks {
        let block = &plain[number * BLOCK_BYTES..plain.len().min((number + 1) * BLOCK_BYTES)];
        let head = (block.len() as u32) << 3 | u32::from(number + 1 == blocks);
        out.extend(&head.to_le_bytes()[..3]);
        out.extend(block);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_unpacks() {
        for plain in [vec![], b"abc".to_vec(), vec![7; 300 << 10]] {
            assert_eq!(zstd::decode_all(&stored(&plain)[..]).unwrap(), plain);
        }
    }
}
