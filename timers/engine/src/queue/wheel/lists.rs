//! Linked lists of slots, one a bucket.

use crate::queue::calendar::{BUCKETS, Calendar, Span};
use crate::queue::slots::{Links, NONE, Place, Slots};
use alloc::vec::Vec;

// What `Links::numbers` mean here: a slot's neighbours in its list.
const PREVIOUS: usize = 0;
const NEXT: usize = 1;

#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

impl Ends {
    const EMPTY: Self = Self { first: NONE, last: NONE };
}

#[derive(Debug)]
pub(super) struct Lists {
    calendar: Calendar,
    ends: Vec<Ends>,
    count: usize,
}

impl Lists {
    pub(super) const fn new() -> Self {
        Self { calendar: Calendar::new(), ends: Vec::new(), count: 0 }
    }

    pub(super) fn reserve(&mut self) {
        self.ends.resize(BUCKETS, Ends::EMPTY);
    }

    pub(super) fn clear(&mut self) {
        self.calendar = Calendar::new();
        self.ends.fill(Ends::EMPTY);
        self.count = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// As [`Calendar::set_base`], in granules.
    pub(super) fn set_base(&mut self, granule: u64) {
        self.calendar.set_base(granule);
    }

    pub(super) fn next(&self) -> Option<Span> {
        self.calendar.next()
    }

    /// Where a granule after the base belongs.
    #[inline]
    pub(super) fn place(&self, granule: u64) -> Place {
        Place::bucket(self.calendar.bucket(granule), 0)
    }

    /// Puts a slot that is nowhere at the end of a list.
    #[inline]
    pub(super) fn link<T>(&mut self, slots: &mut Slots<T>, number: u32, place: Place) {
        if self.ends.is_empty() {
            self.reserve();
        }
        let ends = &mut self.ends[place.index()];
        let last = core::mem::replace(&mut ends.last, number);
        if last == NONE {
            ends.first = number;
            self.calendar.set_occupied(place.index());
        } else {
            slots.slot(last).links.numbers[NEXT] = number;
        }
        slots.slot(number).links = Links { place, numbers: [last, NONE] };
        self.count += 1;
    }

    /// Takes a slot out of the list it is in.
    #[inline]
    pub(super) fn unlink<T>(&mut self, slots: &mut Slots<T>, number: u32) {
        let links = &mut slots.slot(number).links;
        let place = core::mem::replace(&mut links.place, Place::NOWHERE);
        let (previous, next) = (links.numbers[PREVIOUS], links.numbers[NEXT]);
        let ends = &mut self.ends[place.index()];
        if previous == NONE {
            ends.first = next;
        } else {
            slots.slot(previous).links.numbers[NEXT] = next;
        }
        if next == NONE {
            ends.last = previous;
        } else {
            slots.slot(next).links.numbers[PREVIOUS] = previous;
        }
        if ends.first == NONE {
            self.calendar.set_empty(place.index());
        }
        self.count -= 1;
    }

    /// Empties a list; its first slot, whose links lead on.
    pub(super) fn take(&mut self, bucket: usize) -> Option<u32> {
        let ends = core::mem::replace(&mut self.ends[bucket], Ends::EMPTY);
        self.calendar.set_empty(bucket);
        (ends.first != NONE).then_some(ends.first)
    }

    /// The slot after one that was in a list that was taken; its own place is the caller's to set.
    pub(super) fn taken<T>(&mut self, slots: &mut Slots<T>, number: u32) -> Option<u32> {
        self.count -= 1;
        let next = slots.slot(number).links.numbers[NEXT];
        (next != NONE).then_some(next)
    }
}
