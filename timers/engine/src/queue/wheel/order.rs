//! Slots in order, for timers that are moved or cancelled.

use super::lists::Lists;
use crate::Expiry;
use crate::queue::near::{Entry, Near};
use crate::queue::order::Order;
use crate::queue::slots::{Place, Slots};

/// So many entries may be out of date among those of open granules, whatever their number.
const GARBAGE_MIN: usize = 64;
/// So many timers of open granules find memory reserved.
const NEAR_RESERVED: usize = 1024;

/// Linked lists by granules; those of open granules sorted.
#[derive(Debug)]
pub(in crate::queue) struct WheelOrder {
    near: Near,
    /// What is up to this granule is near.
    near_last: u64,
    lists: Lists,
    /// Entries in `near` whose timer has been cancelled or moved.
    garbage: usize,
    granule_bits: u32,
    is_coarse: bool,
}

impl WheelOrder {
    pub(in crate::queue) fn new(granularity_ns: u64, is_coarse: bool) -> Self {
        let granule_bits = granularity_ns.max(1).ilog2();
        let (near, lists) = (Near::new(), Lists::new());
        Self { near, near_last: 0, lists, garbage: 0, granule_bits, is_coarse }
    }

    pub(super) fn granularity_ns(&self) -> u64 {
        1 << self.granule_bits
    }

    #[inline]
    fn granule(&self, hard_ns: u64) -> u64 {
        self.due_ns(hard_ns) >> self.granule_bits
    }

    #[inline]
    fn place(&self, granule: u64) -> Place {
        if granule <= self.near_last { Place::NEAR } else { self.lists.place(granule) }
    }

    /// Takes a slot from where it is.
    #[inline]
    fn leave<T>(&mut self, slots: &mut Slots<T>, number: u32) {
        let links = &mut slots.slot(number).links;
        if links.place.is_bucket() {
            self.lists.unlink(slots, number);
        } else if links.place == Place::NEAR {
            // Its entry stays, and is known by its sequence to be none.
            links.place = Place::NOWHERE;
            self.garbage += 1;
            if self.garbage > self.near.len() / 2 + GARBAGE_MIN {
                self.near.retain(|entry| entry.is_of(slots.slot(entry.slot)));
                self.garbage = 0;
            }
        }
    }

    #[inline]
    fn enter<T>(&mut self, slots: &mut Slots<T>, number: u32, place: Place) {
        if place == Place::NEAR {
            let entry = self.entry(slots, number);
            self.near.insert(entry);
        } else {
            self.lists.link(slots, number, place);
        }
    }

    fn entry<T>(&self, slots: &mut Slots<T>, number: u32) -> Entry {
        let slot = slots.slot(number);
        slot.links.place = Place::NEAR;
        Entry { hard_ns: self.due_ns(slot.hard_ns), sequence: slot.sequence, slot: number }
    }

    /// Opens the next bucket: a granule, or one whose timers go on to lower levels.
    fn open_next<T>(&mut self, slots: &mut Slots<T>) {
        let Some(span) = self.lists.next() else { return };
        self.lists.set_base(span.first);
        self.near_last = span.first;
        let mut next = self.lists.take(span.bucket);
        while let Some(number) = next {
            next = self.lists.taken(slots, number);
            let granule = self.granule(slots.slot(number).hard_ns);
            if granule <= span.first {
                let entry = self.entry(slots, number);
                self.near.load(entry);
            } else {
                let place = self.lists.place(granule);
                self.lists.link(slots, number, place);
            }
        }
        self.near.sort();
    }
}

impl Order for WheelOrder {
    #[inline]
    fn file<T>(&mut self, slots: &mut Slots<T>, number: u32, expiry: Expiry, sequence: u64) {
        let wanted = self.place(self.granule(expiry.hard_ns()));
        let slot = slots.slot(number);
        let place = slot.links.place;
        slot.set(expiry, sequence);
        // Whoever stands too early is sent on when that comes up.
        if place.is_bucket() && place <= wanted {
            return;
        }
        self.leave(slots, number);
        self.enter(slots, number, wanted);
    }

    fn adopt<T>(&mut self, slots: &mut Slots<T>, number: u32) {
        let place = self.place(self.granule(slots.slot(number).hard_ns));
        self.enter(slots, number, place);
    }

    #[inline]
    fn forget<T>(&mut self, slots: &mut Slots<T>, number: u32) {
        self.leave(slots, number);
    }

    #[inline]
    fn earliest_ns(&self) -> Option<u64> {
        match self.near.first() {
            Some(entry) => Some(entry.hard_ns),
            None => self.lists.next().map(|span| span.first << self.granule_bits),
        }
    }

    #[inline]
    fn first<T>(&mut self, slots: &mut Slots<T>) -> Option<Entry> {
        loop {
            let Some(&entry) = self.near.first() else {
                if self.lists.is_empty() {
                    return None;
                }
                self.open_next(slots);
                continue;
            };
            if entry.is_of(slots.slot(entry.slot)) {
                return Some(entry);
            }
            self.near.pop();
            self.garbage -= 1;
        }
    }

    #[inline]
    fn take_first<T>(&mut self, slots: &mut Slots<T>, entry: Entry) {
        self.near.pop();
        slots.slot(entry.slot).links.place = Place::NOWHERE;
    }

    #[inline]
    fn due_ns(&self, time_ns: u64) -> u64 {
        if !self.is_coarse {
            return time_ns;
        }
        let below = self.granularity_ns() - 1;
        time_ns.checked_add(below).map_or(u64::MAX, |time_ns| time_ns & !below)
    }

    fn reserve(&mut self, timers: usize) {
        self.near.reserve(timers.min(NEAR_RESERVED));
        self.lists.reserve();
    }

    fn clear(&mut self) {
        self.near.clear();
        self.near_last = 0;
        self.lists.clear();
        self.garbage = 0;
    }
}
