//! Timers that are not due soon, in buckets of slot numbers.

use crate::queue::calendar::{self, BUCKETS, Calendar, Span};
use crate::queue::slots::{NONE, Place, Slots};
use alloc::vec::Vec;

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
    /// One of its times, and in which bits others have differed from it.
    time_ns: u64,
    differ: u64,
}

impl Bucket {
    const EMPTY: Self = Self { first: NONE, last: NONE, count: 0, time_ns: 0, differ: 0 };
}

/// Slot numbers by time, for times above a base.
#[derive(Debug)]
pub(super) struct Far {
    calendar: Calendar,
    buckets: Vec<Bucket>,
    chunks: Vec<Chunk>,
    free: u32,
    count: usize,
    /// [`Place::TURN`] after every other sweep, else 0.
    turn: u32,
}

/// A bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    pub(super) place: Place,
    /// How many slot numbers it holds.
    pub(super) count: usize,
    pub(super) span: Span,
    /// The earliest time that begins with all digits that its times have in common.
    pub(super) common_ns: u64,
}

/// A bucket that was taken out, to be read with [`Far::drain`].
#[derive(Debug)]
pub(super) struct Opened(Bucket);

impl Far {
    pub(super) const fn new() -> Self {
        Self {
            calendar: Calendar::new(),
            buckets: Vec::new(),
            chunks: Vec::new(),
            free: NONE,
            count: 0,
            turn: 0,
        }
    }

    /// Makes room for so many slot numbers.
    pub(super) fn reserve(&mut self, entries: usize) {
        self.make_buckets();
        // A chunk more than it fills for each bucket, which begins one anew.
        let chunks = entries / Chunk::SLOTS + entries.min(BUCKETS);
        self.chunks.reserve_exact(chunks.saturating_sub(self.chunks.len()));
    }

    pub(super) fn clear(&mut self) {
        self.calendar = Calendar::new();
        self.buckets.fill(Bucket::EMPTY);
        self.chunks.clear();
        self.free = NONE;
        self.count = 0;
    }

    fn make_buckets(&mut self) {
        self.buckets.resize(BUCKETS, Bucket::EMPTY);
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
        Place::bucket(self.calendar.bucket(time_ns), self.turn)
    }

    #[inline]
    pub(super) fn push(&mut self, place: Place, time_ns: u64, slot: u32) {
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
                bucket.time_ns = time_ns;
                bucket.differ = 0;
                self.calendar.set_occupied(index);
            } else {
                self.chunks[bucket.last as usize].next = chunk;
            }
            bucket.last = chunk;
        }
        self.chunks[bucket.last as usize].slots[at] = slot;
        bucket.differ |= bucket.time_ns ^ time_ns;
        bucket.count += 1;
        self.count += 1;
    }

    /// The bucket with the earliest times.
    #[inline]
    pub(super) fn next(&self) -> Option<Next> {
        let span = self.calendar.next()?;
        let Bucket { count, time_ns, differ, .. } = self.buckets[span.bucket];
        let common_ns = calendar::prefix(time_ns, differ);
        Some(Next {
            place: Place::bucket(span.bucket, self.turn),
            count: count as usize,
            span,
            common_ns,
        })
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

    /// Moves the base, back too, and puts every number where its slot belongs now. Drops those that
    /// need not be kept: of slots that are elsewhere or free, and those that come twice.
    pub(super) fn sweep<T>(&mut self, slots: &mut Slots<T>, base_ns: u64) {
        let before = self.turn;
        self.turn ^= Place::TURN;
        self.calendar.set_base(base_ns);
        // From the last bucket on: seen from an earlier base, and after a move to later, no number's
        // bucket is before the one it was in.
        for index in (0..self.buckets.len()).rev() {
            let place = Place::bucket(index, before);
            let mut opened = self.open(place);
            while let Some((numbers, used)) = self.drain(&mut opened) {
                for &number in &numbers[..used] {
                    let slot = slots.slot(number);
                    if slot.links.place != place {
                        continue;
                    }
                    if slot.is_armed() {
                        slot.links.place = self.place(slot.hard_ns);
                        self.push(slot.links.place, slot.hard_ns, number);
                    } else {
                        slot.links.place = Place::NOWHERE;
                    }
                }
            }
        }
    }
}
