//! A CPU's pages, read a few at a time, and the events on them one by one.

use super::data::Data;
use super::options::CpuData;
use super::packing::Packing;
use crate::ImportError;
use std::ops::Range;
use tardy_ftrace::format::Endian;
use tardy_ftrace::page::{Cursor, Missed, PageLayout};

/// Pages that are read at once where they are not compressed.
const PAGES_AT_ONCE: u64 = 16;

/// A chunk of compressed pages is unpacked at once; trace-cmd makes them of ten pages. All CPUs'
/// together may take [`CHUNKS_BYTES_MAX`]; a larger one is passed over, as a loss.
const CHUNK_BYTES_MAX: usize = 16 << 20;
const CHUNK_PAGES_MAX: usize = 64;
const CHUNKS_BYTES_MAX: usize = 1 << 30;

/// The most that a chunk of pages of this size may take where so many CPUs have one at hand.
pub(super) fn chunk_bytes_max(page_bytes: usize, cpus: usize) -> usize {
    CHUNK_BYTES_MAX.min(CHUNK_PAGES_MAX * page_bytes).min(CHUNKS_BYTES_MAX / cpus.max(1))
}

/// Bytes of the number of chunks.
const CHUNKS_NUMBER_BYTES: u64 = 4;

/// One CPU's events.
pub(super) struct Lane {
    pub(super) cpu: u16,
    endian: Endian,
    layout: PageLayout,
    /// And the most that a chunk may take, where they are compressed.
    packing: Option<(Packing, usize)>,
    /// Where the next pages are, and where they end.
    at: u64,
    end: u64,
    /// Chunks that come yet; `None` before their number has been read.
    chunks: Option<u32>,
    /// Pages at hand.
    held: Vec<u8>,
    packed: Vec<u8>,
    /// Where the present page begins in them.
    page_at: usize,
    cursor: Option<Cursor>,
    head: Option<Head>,
    /// Events that were lost before the next one: how many, `u32::MAX` where that is not known.
    pub(super) lost: Option<u32>,
    /// Chunks that could not be unpacked, with the place of the first.
    pub(super) broken: Option<(u64, u32)>,
    /// Bytes that should be there and are not.
    pub(super) cut_bytes: u64,
}

/// The next event.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) stamp: u64,
    record: Range<usize>,
}

impl Lane {
    pub(super) fn new(
        data: &Data,
        endian: Endian,
        layout: PageLayout,
        packing: Option<(Packing, usize)>,
        cpu: CpuData,
    ) -> Self {
        // trace-cmd 3.1 leaves the number of chunks out of their size; it is that number that ends them.
        let more = if packing.is_some() && cpu.bytes > 0 { CHUNKS_NUMBER_BYTES } else { 0 };
        let end = cpu.at.saturating_add(cpu.bytes).saturating_add(more);
        let is_there = end.min(data.bytes());
        Self {
            cpu: cpu.cpu,
            endian,
            layout,
            packing,
            at: cpu.at.min(is_there),
            end: is_there,
            chunks: None,
            held: Vec::new(),
            packed: Vec::new(),
            page_at: 0,
            cursor: None,
            head: None,
            lost: None,
            broken: None,
            cut_bytes: end - is_there.max(cpu.at.min(end)),
        }
    }

    /// The next event, which [`Lane::advance`] passes.
    #[inline]
    pub(super) fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// The next event's record.
    #[inline]
    pub(super) fn record(&self, head: &Head) -> &[u8] {
        &self.held[head.record.clone()]
    }

    /// Goes to the next event, over pages.
    #[inline]
    pub(super) fn advance(&mut self, data: &Data) -> Result<(), ImportError> {
        loop {
            if let Some(cursor) = &mut self.cursor {
                let page = &self.held[self.page_at..];
                let page = &page[..page.len().min(self.layout.page_bytes)];
                if let Some(place) = cursor.next_place(&self.layout, page) {
                    self.head = Some(Head {
                        stamp: cursor.time_ns(),
                        record: self.page_at + place.start..self.page_at + place.end,
                    });
                    return Ok(());
                }
            }
            if !self.next_page(data)? {
                self.head = None;
                return Ok(());
            }
        }
    }

    /// Opens the next page. `false` where there is none.
    fn next_page(&mut self, data: &Data) -> Result<bool, ImportError> {
        loop {
            if self.cursor.take().is_some() {
                self.page_at += self.layout.page_bytes;
            }
            if self.page_at >= self.held.len() {
                self.page_at = 0;
                if !self.refill(data)? {
                    self.held.clear();
                    return Ok(false);
                }
            }
            let page = &self.held[self.page_at..];
            let page = &page[..page.len().min(self.layout.page_bytes)];
            let Some((missed, cursor)) = self.layout.open(page) else {
                self.page_at = self.held.len();
                continue;
            };
            self.cursor = Some(cursor);
            match missed {
                Missed::Nothing => {}
                Missed::Count(count) => self.lose(u32::try_from(count).unwrap_or(u32::MAX)),
                Missed::Unknown => self.lose(u32::MAX),
            }
            return Ok(true);
        }
    }

    fn lose(&mut self, count: u32) {
        self.lost = Some(self.lost.map_or(count, |lost| lost.saturating_add(count)));
    }

    /// Reads the next pages. `false` where there are none.
    fn refill(&mut self, data: &Data) -> Result<bool, ImportError> {
        if let Some((packing, bytes_max)) = self.packing {
            return self.refill_from_chunks(data, packing, bytes_max);
        }
        let bytes = (self.end - self.at).min(PAGES_AT_ONCE * self.layout.page_bytes as u64);
        if bytes == 0 {
            return Ok(false);
        }
        data.read(self.at, bytes as usize, &mut self.held)?;
        self.at += bytes;
        Ok(true)
    }

    /// A number of four bytes, and past it; `None` where the pages end before.
    fn number(&mut self, data: &Data) -> Result<Option<u32>, ImportError> {
        if self.end - self.at < 4 {
            self.at = self.end;
            return Ok(None);
        }
        data.read(self.at, 4, &mut self.packed)?;
        self.at += 4;
        Ok(self.endian.number(&self.packed).map(|number| number as u32))
    }

    fn refill_from_chunks(
        &mut self,
        data: &Data,
        packing: Packing,
        bytes_max: usize,
    ) -> Result<bool, ImportError> {
        if self.chunks.is_none() {
            self.chunks = Some(self.number(data)?.unwrap_or(0));
        }
        while let Some(left @ 1..) = self.chunks {
            let place = self.at;
            let (Some(packed), Some(bytes)) = (self.number(data)?, self.number(data)?) else {
                break;
            };
            if u64::from(packed) > self.end - self.at {
                self.at = self.end;
                break;
            }
            self.chunks = Some(left - 1);
            let next = self.at + u64::from(packed);
            let is_good = packed as usize <= bytes_max && {
                data.read(self.at, packed as usize, &mut self.packed)?;
                let unpacker = data.unpacker();
                let (packed, held) = (&self.packed, &mut self.held);
                unpacker.unpack(packing, packed, bytes as usize, bytes_max, held).is_ok()
            };
            self.at = next;
            if is_good && !self.held.is_empty() {
                return Ok(true);
            }
            self.lose(u32::MAX);
            self.broken = Some(self.broken.map_or((place, 1), |(first, count)| (first, count + 1)));
        }
        self.chunks = Some(0);
        Ok(false)
    }

    /// Goes on near the end, so that the last pages can be looked at; without the pages between.
    pub(super) fn skip_to_last_pages(
        &mut self,
        data: &Data,
        pages: u64,
    ) -> Result<(), ImportError> {
        self.held.clear();
        self.cursor = None;
        self.head = None;
        self.page_at = 0;
        let page_bytes = self.layout.page_bytes as u64;
        if self.packing.is_none() {
            let left_pages = (self.end - self.at) / page_bytes;
            self.at += left_pages.saturating_sub(pages) * page_bytes;
            return Ok(());
        }
        if self.chunks.is_none() {
            self.chunks = Some(self.number(data)?.unwrap_or(0));
        }
        // All but the last two chunks.
        while let Some(left @ 3..) = self.chunks {
            let (Some(packed), Some(_)) = (self.number(data)?, self.number(data)?) else { break };
            if u64::from(packed) > self.end - self.at {
                break;
            }
            self.at += u64::from(packed);
            self.chunks = Some(left - 1);
        }
        Ok(())
    }
}
