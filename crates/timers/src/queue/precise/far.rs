//! Timers that are not due soon, in buckets of slot numbers.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// A level has a bucket for each value of a digit of this many bits.
const DIGIT_BITS: u32 = 8;
const DIGITS: usize = 1 << DIGIT_BITS;
/// So many digits make 64 bits.
const LEVELS: usize = (u64::BITS / DIGIT_BITS) as usize;

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

/// A tree of times by their digits in base 256, of which only what differs from `base_ns` is kept: a
/// timer's level is the highest digit in which it differs, its bucket there that digit's value. All of
/// a level is earlier than all of the next one.
///
/// Holds times above `base_ns` only.
#[derive(Debug)]
pub(super) struct Far {
    base_ns: u64,
    buckets: Box<[Bucket]>,
    /// A bit for each bucket that is not empty.
    occupied: [[u64; DIGITS / 64]; LEVELS],
    chunks: Vec<Chunk>,
    free: u32,
    count: usize,
    /// [`Place::SWEEP`] or 0.
    sweep: u32,
}

/// A bucket that was taken out, to be read with [`Far::drain`].
#[derive(Debug)]
pub(super) struct Opened(Bucket);

/// Which bucket is the next, and what times it may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    pub(super) place: Place,
    pub(super) count: usize,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
}

impl Far {
    /// Room for `entries` without allocating.
    pub(super) fn with_capacity(entries: usize) -> Self {
        let mut far = Self {
            base_ns: 0,
            buckets: Box::new([]),
            occupied: [[0; DIGITS / 64]; LEVELS],
            chunks: Vec::new(),
            free: NONE,
            count: 0,
            sweep: 0,
        };
        if entries > 0 {
            far.make_buckets();
            // A chunk more than it fills for each bucket, which begins one anew.
            let partly_filled = entries.min(LEVELS * DIGITS);
            far.chunks.reserve_exact(entries / Chunk::SLOTS + partly_filled);
        }
        far
    }

    fn make_buckets(&mut self) {
        self.buckets = alloc::vec![Bucket::EMPTY; LEVELS * DIGITS].into_boxed_slice();
    }

    pub(super) fn base_ns(&self) -> u64 {
        self.base_ns
    }

    /// How many slot numbers are here.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Moves the base. Where buckets are occupied, the digits of those levels must stay as they are:
    /// `base_ns` is within what was last opened.
    pub(super) fn set_base(&mut self, base_ns: u64) {
        self.base_ns = base_ns;
    }

    /// Where a time above the base belongs.
    pub(super) fn place(&self, time_ns: u64) -> Place {
        debug_assert!(time_ns > self.base_ns);
        let level = level_of(time_ns ^ self.base_ns);
        Place::bucket(level * DIGITS + digit(time_ns, level), self.sweep)
    }

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
                self.occupied[index / DIGITS][index % DIGITS / 64] |= 1 << (index % 64);
            } else {
                self.chunks[bucket.last as usize].next = chunk;
            }
            bucket.last = chunk;
        }
        self.chunks[bucket.last as usize].slots[at] = slot;
        bucket.count += 1;
        self.count += 1;
    }

    /// The bucket with the earliest times.
    pub(super) fn next(&self) -> Option<Next> {
        if self.count == 0 {
            return None;
        }
        let (level, digit) = self.occupied.iter().enumerate().find_map(|(level, words)| {
            let word = words.iter().position(|&bits| bits != 0)?;
            Some((level, word * 64 + words[word].trailing_zeros() as usize))
        })?;
        let shift = level as u32 * DIGIT_BITS;
        let below = (1 << shift) - 1;
        let digits_above = !(below | (DIGITS as u64 - 1) << shift);
        let first_ns = self.base_ns & digits_above | (digit as u64) << shift;
        let place = Place::bucket(level * DIGITS + digit, self.sweep);
        let count = self.buckets[place.index()].count as usize;
        Some(Next { place, count, first_ns, last_ns: first_ns | below })
    }

    /// Takes a bucket out.
    pub(super) fn open(&mut self, place: Place) -> Opened {
        let index = place.index();
        let bucket = core::mem::replace(&mut self.buckets[index], Bucket::EMPTY);
        self.occupied[index / DIGITS][index % DIGITS / 64] &= !(1 << (index % 64));
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

fn level_of(difference: u64) -> usize {
    (difference.ilog2() / DIGIT_BITS) as usize
}

fn digit(time_ns: u64, level: usize) -> usize {
    (time_ns >> (level as u32 * DIGIT_BITS)) as usize % DIGITS
}

/// The first and last time that agree with `a_ns` in all digits above the highest in which it differs
/// from `b_ns`, and in that digit.
pub(super) fn common(a_ns: u64, b_ns: u64) -> (u64, u64) {
    let below = (1 << (level_of(a_ns ^ b_ns) as u32 * DIGIT_BITS)) - 1;
    (a_ns & !below, a_ns | below)
}
