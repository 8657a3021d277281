//! Timers that are not due soon, in buckets of slot numbers.

use crate::queue::calendar::{BUCKETS, Calendar, Span};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// No chunk; ends a bucket.
const NONE: u32 = u32::MAX;

/// Where a slot's entry is. Earlier places hold earlier times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(u32);

impl Place {
    /// Among those due soon.
    pub(super) const NEAR: Self = Self(0);
    /// There is no entry. Later than any other, so that no time is late enough to leave it there.
    pub(super) const NOWHERE: Self = Self(u32::MAX);
    /// Alternates with every sweep, so that a place from before it is none from after it.
    const SWEEP: u32 = 1 << 24;

    fn bucket(index: usize, sweep: u32) -> Self {
        Self(sweep + 1 + index as u32)
    }

    fn index(self) -> usize {
        (self.0 % Self::SWEEP) as usize - 1
    }
}

/// One cache line of slot numbers.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk {
    slots: [u32; Self::SLOTS],
    next: u32,
}

impl Chunk {
    const SLOTS: usize = 15;
}

/// A list of chunks, all but the last full. In order of entry, which for timers set to equal times is
/// the order in which they fire.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    first: u32,
    last: u32,
    count: u32,
}

impl Bucket {
    const EMPTY: Self = Self { first: NONE, last: NONE, count: 0 };
}

/// Slot numbers by time, for times above a base.
#[derive(Debug)]
pub(super) struct Far {
    calendar: Calendar,
    buckets: Box<[Bucket]>,
    chunks: Vec<Chunk>,
    free: u32,
    count: usize,
    /// [`Place::SWEEP`] or 0.
    sweep: u32,
}

/// A bucket that was taken out, to be read with [`Far::drain`].
#[derive(Debug)]
pub(super) struct Opened(Bucket);

impl Far {
    /// Room for `entries` without allocating.
    pub(super) fn with_capacity(entries: usize) -> Self {
        let mut far = Self {
            calendar: Calendar::new(),
            buckets: Box::new([]),
            chunks: Vec::new(),
            free: NONE,
            count: 0,
            sweep: 0,
        };
        if entries > 0 {
            far.make_buckets();
            // A chunk more than it fills for each bucket, which begins one anew.
            far.chunks.reserve_exact(entries / Chunk::SLOTS + entries.min(BUCKETS));
        }
        far
    }

    fn make_buckets(&mut self) {
        self.buckets = alloc::vec![Bucket::EMPTY; BUCKETS].into_boxed_slice();
    }

    pub(super) fn base_ns(&self) -> u64 {
        self.calendar.base()
    }

    /// As [`Calendar::set_base`].
    pub(super) fn set_base(&mut self, base_ns: u64) {
        self.calendar.set_base(base_ns);
    }

    /// How many slot numbers are here.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Where a time above the base belongs.
    #[inline]
    pub(super) fn place(&self, time_ns: u64) -> Place {
        Place::bucket(self.calendar.bucket(time_ns), self.sweep)
    }

    #[inline]
    pub(super) fn push(&mut self, place: Place, slot: u32) {
        if self.buckets.is_empty() {
            self.make_buckets();
        }
        let index = place.index();
        let bucket = &mut self.buckets[index];
        let at = bucket.count as usize % Chunk::SLOTS;
        if at == 0 {
            let chunk = if self.free == NONE {
                self.chunks.push(Chunk { slots: [0; Chunk::SLOTS], next: NONE });
                self.chunks.len() as u32 - 1
            } else {
                let chunk = self.free;
                self.free = self.chunks[chunk as usize].next;
                chunk
            };
            self.chunks[chunk as usize].next = NONE;
            if bucket.first == NONE {
                bucket.first = chunk;
                self.calendar.set_occupied(index);
            } else {
                self.chunks[bucket.last as usize].next = chunk;
            }
            bucket.last = chunk;
        }
        self.chunks[bucket.last as usize].slots[at] = slot;
        bucket.count += 1;
        self.count += 1;
    }

    /// The bucket with the earliest times: where it is, what it spans, and how many it holds.
    pub(super) fn next(&self) -> Option<(Place, Span, usize)> {
        let span = self.calendar.next()?;
        let count = self.buckets[span.bucket].count as usize;
        Some((Place::bucket(span.bucket, self.sweep), span, count))
    }

    /// Takes a bucket out.
    pub(super) fn open(&mut self, place: Place) -> Opened {
        let index = place.index();
        let bucket = core::mem::replace(&mut self.buckets[index], Bucket::EMPTY);
        self.calendar.set_empty(index);
        self.count -= bucket.count as usize;
        Opened(bucket)
    }

    /// The next few numbers of a bucket that was taken out, whose memory is free again.
    pub(super) fn drain(&mut self, opened: &mut Opened) -> Option<([u32; Chunk::SLOTS], usize)> {
        if opened.0.count == 0 {
            return None;
        }
        let number = opened.0.first;
        let used = (opened.0.count as usize).min(Chunk::SLOTS);
        let chunk = &mut self.chunks[number as usize];
        let slots = chunk.slots;
        opened.0.first = chunk.next;
        opened.0.count -= used as u32;
        chunk.next = self.free;
        self.free = number;
        Some((slots, used))
    }

    /// Drops every number that need not be kept, and those that come twice.
    ///
    /// `keep` is asked of slots: whether the slot's place is the first one given and the slot is to be
    /// kept, and if so to give it the second.
    pub(super) fn sweep(&mut self, mut keep: impl FnMut(u32, Place, Place) -> bool) {
        let before = self.sweep;
        self.sweep ^= Place::SWEEP;
        for index in 0..self.buckets.len() {
            let from = Place::bucket(index, before);
            let to = Place::bucket(index, self.sweep);
            let mut opened = self.open(from);
            while let Some((slots, used)) = self.drain(&mut opened) {
                for &slot in &slots[..used] {
                    if keep(slot, from, to) {
                        self.push(to, slot);
                    }
                }
            }
        }
    }
}
