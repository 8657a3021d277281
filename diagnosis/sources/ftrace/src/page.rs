//! A page of the kernel's ring buffer, as `trace_pipe_raw` gives it and `trace.dat` keeps it.
//!
//! A page is a header (time of its first event; a `commit` word with the number of data bytes, in
//! whose high bits stands whether events were lost before it) and events one after the other, each
//! with a 4-byte head: 5 bits of length or type and 27 bits of time since the event before
//! (`include/linux/ring_buffer.h`; the reading follows `kbuffer` of libtraceevent). All of it is
//! pure and takes any bytes: a page that is cut or hostile yields fewer events, never a panic.

use crate::format::{Endian, Field};
use std::ops::Range;

/// How pages of one machine are laid out, from `events/header_page`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLayout {
    /// The machine's byte order.
    pub endian: Endian,
    /// Where the commit word begins, in bytes.
    pub commit_offset: usize,
    /// Bytes of the commit word: the machine's `long`, 4 or 8.
    pub commit_bytes: usize,
    /// Where the events begin, in bytes.
    pub data_offset: usize,
    /// Bytes of a whole page.
    pub page_bytes: usize,
}

/// The largest page that is read: the kernel's largest sub-buffer is a few dozen KiB.
pub const PAGE_BYTES_MAX: usize = 1 << 20;

/// Events that were lost before a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// None.
    Nothing,
    /// This many.
    Count(u64),
    /// Some; the kernel had no room to tell how many.
    Unknown,
}

/// An event's time and its record, whose first field is `common_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEvent<'a> {
    /// In the unit of the trace clock (nanoseconds for `mono`).
    pub time_ns: u64,
    /// The record; up to 3 bytes longer than what was written, by alignment.
    pub record: &'a [u8],
}

/// A place between two events of a page; holds no bytes, so that it can rest beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    at: usize,
    end: usize,
    time_ns: u64,
}

/// Why a text is not `events/header_page`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("events/header_page does not say where `{0}` is, or says something impossible")]
pub struct LayoutError(pub &'static str);

/// Bits of the commit word (`kernel/trace/ring_buffer.c`).
const MISSED_EVENTS: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const COMMIT_MASK: u64 = (1 << 27) - 1;

/// Types that stand where small events have their length in words.
const TYPE_PADDING: u32 = 29;
const TYPE_TIME_EXTEND: u32 = 30;
const TYPE_TIME_STAMP: u32 = 31;

/// An absolute time stamp has 59 bits; the rest comes from the time before it.
const STAMP_BITS: u32 = 59;

impl PageLayout {
    /// Reads the text of `events/header_page`.
    ///
    /// # Errors
    /// Where a field is missing, or a size is none that a kernel has.
    pub fn parse(header_page: &str, endian: Endian) -> Result<Self, LayoutError> {
        let field = |name: &'static str| {
            let mut fields = header_page.lines().filter_map(Field::parse);
            fields.find(|field| field.name == name).ok_or(LayoutError(name))
        };
        let (stamp, commit, data) = (field("timestamp")?, field("commit")?, field("data")?);
        if (stamp.offset, stamp.size) != (0, 8) {
            return Err(LayoutError("timestamp"));
        }
        let layout = Self {
            endian,
            commit_offset: commit.offset as usize,
            commit_bytes: commit.size as usize,
            data_offset: data.offset as usize,
            page_bytes: (data.offset as usize).saturating_add(data.size as usize),
        };
        if !matches!(layout.commit_bytes, 4 | 8) || layout.commit_offset < 8 {
            return Err(LayoutError("commit"));
        }
        let fits = layout.commit_offset.saturating_add(layout.commit_bytes) <= layout.data_offset;
        if !fits || layout.page_bytes > PAGE_BYTES_MAX {
            return Err(LayoutError("data"));
        }
        Ok(layout)
    }

    /// Opens a page: what was lost before it, and the place before its first event. `None` where
    /// `page` is shorter than a header.
    pub fn open(&self, page: &[u8]) -> Option<(Missed, Cursor)> {
        let time_ns = self.endian.number(page.get(..8)?)?;
        let word = page.get(self.commit_offset..self.commit_offset + self.commit_bytes)?;
        let commit = self.endian.number(word)?;
        let data_bytes = (commit & COMMIT_MASK) as usize;
        let end = (self.data_offset + data_bytes).min(page.len());
        let missed = if commit & MISSED_EVENTS == 0 {
            Missed::Nothing
        } else if commit & MISSED_STORED == 0 {
            Missed::Unknown
        } else {
            let count =
                page.get(end..end + self.commit_bytes).and_then(|at| self.endian.number(at));
            count.map_or(Missed::Unknown, Missed::Count)
        };
        Some((missed, Cursor { at: self.data_offset, end, time_ns }))
    }

    /// All events of a page, with what was lost before it.
    pub fn events<'a>(
        &self,
        page: &'a [u8],
    ) -> Option<(Missed, impl Iterator<Item = RawEvent<'a>> + use<'a>)> {
        let (layout, (missed, mut cursor)) = (*self, self.open(page)?);
        Some((missed, std::iter::from_fn(move || cursor.next(&layout, page))))
    }
}

impl Cursor {
    /// The time of the event last passed; at the start, that of the page.
    pub fn time_ns(&self) -> u64 {
        self.time_ns
    }

    /// Passes the next event of `page`, which must be the one that this place is in; with another
    /// one the events make no sense, and nothing worse.
    #[inline]
    pub fn next<'a>(&mut self, layout: &PageLayout, page: &'a [u8]) -> Option<RawEvent<'a>> {
        let place = self.next_place(layout, page)?;
        Some(RawEvent { time_ns: self.time_ns, record: page.get(place)? })
    }

    /// The same, and tells where in the page the event's record is: for those who come back to it.
    #[inline]
    pub fn next_place(&mut self, layout: &PageLayout, page: &[u8]) -> Option<Range<usize>> {
        let data = page.get(..self.end)?;
        let word =
            |at: usize| Some(layout.endian.number(data.get(at..at.checked_add(4)?)?)? as u32);
        loop {
            let head = word(self.at)?;
            let (kind, delta) = match layout.endian {
                Endian::Little => (head & 31, head >> 5),
                Endian::Big => (head >> 27, head & ((1 << 27) - 1)),
            };
            let body = self.at + 4;
            match kind {
                // Nothing but padding to the page's end.
                TYPE_PADDING if delta == 0 => return None,
                // An event that was discarded: its time still counts for the one after it.
                TYPE_PADDING => self.pass(delta.into(), body.checked_add(word(body)? as usize)?),
                TYPE_TIME_EXTEND => {
                    self.pass(u64::from(word(body)?) << 27 | u64::from(delta), body + 4);
                }
                TYPE_TIME_STAMP => {
                    let low = (u64::from(word(body)?) << 27 | u64::from(delta)) % (1 << STAMP_BITS);
                    self.stamp(low);
                    self.at = body + 4;
                }
                0 => {
                    // The length counts its own word.
                    let bytes = (word(body)? as usize).checked_sub(4)?;
                    let next = (body + 4).checked_add(bytes)?.checked_next_multiple_of(4)?;
                    let record = body + 4..body + 4 + bytes;
                    data.get(record.clone())?;
                    self.pass(delta.into(), next);
                    return Some(record);
                }
                words => {
                    let next = body + words as usize * 4;
                    data.get(body..next)?;
                    self.pass(delta.into(), next);
                    return Some(body..next);
                }
            }
        }
    }

    fn pass(&mut self, delta: u64, next: usize) {
        self.time_ns = self.time_ns.wrapping_add(delta);
        self.at = next;
    }

    /// Completes a stamp of 59 bits by the time before it, which it cannot precede.
    fn stamp(&mut self, low: u64) {
        let before = self.time_ns;
        let stamp = before >> STAMP_BITS << STAMP_BITS | low;
        let wraps = stamp < before && before >> STAMP_BITS != 0;
        self.time_ns = if wraps { stamp.wrapping_add(1 << STAMP_BITS) } else { stamp };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LAYOUTS: [PageLayout; 2] = [
        PageLayout {
            endian: Endian::Little,
            commit_offset: 8,
            commit_bytes: 8,
            data_offset: 16,
            page_bytes: 4096,
        },
        PageLayout {
            endian: Endian::Big,
            commit_offset: 8,
            commit_bytes: 4,
            data_offset: 12,
            page_bytes: 4096,
        },
    ];

    /// Writes a page by a layout, so that both word sizes and byte orders run through every case.
    struct Writer(PageLayout, Vec<u8>);

    impl Writer {
        fn u32(&mut self, number: u32) {
            match self.0.endian {
                Endian::Little => self.1.extend(number.to_le_bytes()),
                Endian::Big => self.1.extend(number.to_be_bytes()),
            }
        }

        fn head(&mut self, kind: u32, delta: u32) {
            match self.0.endian {
                Endian::Little => self.u32(delta << 5 | kind),
                Endian::Big => self.u32(kind << 27 | delta),
            }
        }

        fn page(self, time_ns: u64, flags: u64, after: Option<u64>) -> Vec<u8> {
            let Self(layout, data) = self;
            let number = |number: u64, bytes: usize| match layout.endian {
                Endian::Little => number.to_le_bytes()[..bytes].to_vec(),
                Endian::Big => number.to_be_bytes()[8 - bytes..].to_vec(),
            };
            let mut page = number(time_ns, 8);
            page.extend(number(data.len() as u64 | flags, layout.commit_bytes));
            page.extend(data);
            page.extend(after.map(|after| number(after, layout.commit_bytes)).unwrap_or_default());
            page.resize(layout.page_bytes, 0);
            page
        }
    }

    fn read(layout: &PageLayout, page: &[u8]) -> (Missed, Vec<(u64, Vec<u8>)>) {
        let (missed, events) = layout.events(page).unwrap();
        (missed, events.map(|event| (event.time_ns, event.record.to_vec())).collect())
    }

    #[test]
    fn every_kind_of_entry() {
        for layout in LAYOUTS {
            let mut page = Writer(layout, Vec::new());
            page.head(1, 5); // a small event, 1 word
            page.1.extend(b"abcd");
            page.head(TYPE_TIME_EXTEND, 3); // + (2 << 27) + 3
            page.u32(2);
            page.head(0, 1); // a length of its own, not a multiple of 4
            page.u32(4 + 6);
            page.1.extend(b"efghij\0\0");
            page.head(TYPE_PADDING, 7); // a discarded event of 8 bytes
            page.u32(8);
            page.1.extend(b"gone");
            page.head(TYPE_TIME_STAMP, 9);
            page.u32(1 << 10);
            page.head(1, 0);
            page.1.extend(b"klmn");
            page.head(TYPE_PADDING, 0); // to the end
            page.1.extend(b"never read");
            let page = page.page(1000, MISSED_EVENTS | MISSED_STORED, Some(42));
            let extended = 1005 + (2 << 27) + 3 + 1;
            let expected = [
                (1005, b"abcd".to_vec()),
                (extended, b"efghij".to_vec()),
                ((1 << 37) + 9, b"klmn".to_vec()),
            ];
            assert_eq!(read(&layout, &page), (Missed::Count(42), expected.to_vec()));
        }
    }

    #[test]
    fn losses_without_a_count_and_pages_without_losses() {
        for layout in LAYOUTS {
            let page = Writer(layout, Vec::new()).page(7, MISSED_EVENTS, None);
            assert_eq!(read(&layout, &page), (Missed::Unknown, vec![]));
            let page = Writer(layout, Vec::new()).page(7, 0, None);
            assert_eq!(read(&layout, &page), (Missed::Nothing, vec![]));
        }
    }

    #[test]
    fn a_stamp_takes_its_high_bits_from_the_time_before() {
        let mut cursor = Cursor { at: 0, end: 0, time_ns: (3 << STAMP_BITS) + 100 };
        cursor.stamp(200);
        assert_eq!(cursor.time_ns, (3 << STAMP_BITS) + 200);
        cursor.stamp(50);
        assert_eq!(cursor.time_ns, (4 << STAMP_BITS) + 50);
    }

    #[test]
    fn a_layout_that_no_machine_has_is_refused() {
        let text = "field: u64 timestamp; offset:0; size:8; signed:0;\n\
            field: local_t commit; offset:8; size:8; signed:1;\n\
            field: char data; offset:16; size:4080; signed:0;\n";
        assert_eq!(PageLayout::parse(text, Endian::Little), Ok(LAYOUTS[0]));
        for (from, to, what) in [
            ("offset:0", "offset:4", "timestamp"),
            ("offset:8; size:8", "offset:8; size:3", "commit"),
            ("offset:16", "offset:12", "data"),
            ("4080", "4000000000", "data"),
            // Their sum is no number of a 32-bit machine.
            ("4080", "4294967295", "data"),
            ("offset:8; size:8", "offset:4294967295; size:8", "data"),
            ("commit", "x", "commit"),
        ] {
            let parsed = PageLayout::parse(&text.replace(from, to), Endian::Little);
            assert_eq!(parsed, Err(LayoutError(what)), "{to}");
        }
    }

    proptest! {
        /// Random bytes yield events within the page, at most one per word of it.
        #[test]
        fn hostile_pages(
            mut page in prop::collection::vec(any::<u8>(), 0..600),
            commit in prop::option::of(0u16..600),
        ) {
            for layout in LAYOUTS {
                if let (Some(commit), true) = (commit, page.len() >= 16) {
                    let at = if layout.endian == Endian::Big { 8..12 } else { 8..16 };
                    page[at].fill(0);
                    let bytes = commit.to_le_bytes();
                    page[8..10].copy_from_slice(&bytes);
                    if layout.endian == Endian::Big {
                        page[8..10].fill(0);
                        page[10..12].copy_from_slice(&commit.to_be_bytes());
                    }
                }
                let Some((_, events)) = layout.events(&page) else {
                    prop_assert!(page.len() < 16);
                    continue;
                };
                let lengths: Vec<usize> = events.map(|event| event.record.len()).collect();
                prop_assert!(lengths.len() <= page.len() / 4);
                prop_assert!(lengths.iter().sum::<usize>() <= page.len());
            }
        }
    }
}
