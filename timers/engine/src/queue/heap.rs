//! The queue for few timers.

use super::near::Entry;
use super::order::Order;
use super::ordered::{Ordered, queue};
use super::slots::{Place, Slots};
use crate::Expiry;
use alloc::vec::Vec;

/// How many entries are below one. Four share two cache lines, and a heap of 85 is three levels deep.
const WIDTH: usize = 4;

/// What `Links::numbers` mean here: the place of a slot's entry in the heap.
const AT: usize = 0;

/// The queue for few timers: a heap, exact to the nanosecond.
///
/// Insert, cancel, move and expiry are O(log n), and no single call takes longer. With some hundred timers that is
/// less than what [`Precise`](super::Precise) spends on being O(1); with thousands it is more.
///
/// 40 bytes a timer, beside the payload and an `Option` around it, and 24 bytes of entry.
///
/// [`next_expiry_ns`](super::Queue::next_expiry_ns) is exact.
#[derive(Debug)]
pub struct Heap<T>(Ordered<HeapOrder, T>);

impl<T> Heap<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// An empty queue that allocates nothing until there are more than `timers`.
    pub fn with_capacity(timers: usize) -> Self {
        Self(Ordered::with_capacity(HeapOrder { entries: Vec::new() }, timers))
    }
}

impl<T> Default for Heap<T> {
    fn default() -> Self {
        Self::new()
    }
}

queue!(Heap, |ordered| ordered.earliest_ns());

/// Entries, each no later than the [`WIDTH`] below it.
#[derive(Debug)]
struct HeapOrder {
    entries: Vec<Entry>,
}

impl HeapOrder {
    /// Moves an entry to its place, from where there is a gap.
    #[inline]
    fn settle<T>(&mut self, slots: &mut Slots<T>, gap: usize, entry: Entry) {
        let above = gap.wrapping_sub(1) / WIDTH;
        if gap > 0 && entry < self.entries[above] {
            self.rise(slots, gap, entry);
        } else {
            self.sink(slots, gap, entry);
        }
    }

    fn rise<T>(&mut self, slots: &mut Slots<T>, mut gap: usize, entry: Entry) {
        while gap > 0 {
            let above = (gap - 1) / WIDTH;
            let other = self.entries[above];
            if other < entry {
                break;
            }
            self.put(slots, gap, other);
            gap = above;
        }
        self.put(slots, gap, entry);
    }

    fn sink<T>(&mut self, slots: &mut Slots<T>, mut gap: usize, entry: Entry) {
        loop {
            let first = gap * WIDTH + 1;
            let Some((&next, others)) =
                self.entries.get(first..).and_then(|below| below.split_first())
            else {
                break;
            };
            let (mut at, mut least) = (first, next);
            for (number, other) in others.iter().take(WIDTH - 1).enumerate() {
                if *other < least {
                    (at, least) = (first + 1 + number, *other);
                }
            }
            if entry < least {
                break;
            }
            self.put(slots, gap, least);
            gap = at;
        }
        self.put(slots, gap, entry);
    }

    #[inline]
    fn put<T>(&mut self, slots: &mut Slots<T>, at: usize, entry: Entry) {
        slots.slot(entry.slot).links.numbers[AT] = at as u32;
        self.entries[at] = entry;
    }

    fn remove<T>(&mut self, slots: &mut Slots<T>, at: usize) {
        let Some(last) = self.entries.pop() else { return };
        if at < self.entries.len() {
            self.settle(slots, at, last);
        }
    }
}

impl Order for HeapOrder {
    #[inline]
    fn file<T>(&mut self, slots: &mut Slots<T>, number: u32, expiry: Expiry, sequence: u64) {
        let slot = slots.slot(number);
        slot.set(expiry, sequence);
        let entry = Entry { hard_ns: expiry.hard_ns(), sequence, slot: number };
        if slot.links.place == Place::NEAR {
            let at = slot.links.numbers[AT] as usize;
            return self.settle(slots, at, entry);
        }
        slot.links.place = Place::NEAR;
        self.entries.push(entry);
        self.rise(slots, self.entries.len() - 1, entry);
    }

    fn adopt<T>(&mut self, slots: &mut Slots<T>, number: u32) {
        let slot = slots.slot(number);
        let (expiry, sequence) = (slot.expiry(), slot.sequence);
        self.file(slots, number, expiry, sequence);
    }

    #[inline]
    fn forget<T>(&mut self, slots: &mut Slots<T>, number: u32) {
        let links = &mut slots.slot(number).links;
        links.place = Place::NOWHERE;
        let at = links.numbers[AT] as usize;
        self.remove(slots, at);
    }

    #[inline]
    fn earliest_ns(&self) -> Option<u64> {
        self.entries.first().map(|entry| entry.hard_ns)
    }

    #[inline]
    fn first<T>(&mut self, _: &mut Slots<T>) -> Option<Entry> {
        self.entries.first().copied()
    }

    #[inline]
    fn take_first<T>(&mut self, slots: &mut Slots<T>, entry: Entry) {
        slots.slot(entry.slot).links.place = Place::NOWHERE;
        self.remove(slots, 0);
    }

    #[inline]
    fn due_ns(&self, time_ns: u64) -> u64 {
        time_ns
    }

    fn reserve(&mut self, timers: usize) {
        self.entries.reserve_exact(timers.saturating_sub(self.entries.len()));
    }

    fn clear(&mut self) {
        self.entries.clear();
    }
}
