//! Linked lists of slots, one a bucket.

use crate::queue::calendar::{BUCKETS, Calendar, Span};
use crate::queue::slots::{NONE, Slots};
use alloc::boxed::Box;

/// Where a slot is. Earlier places hold earlier times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(u32);

impl Place {
    /// Among those of open granules.
    pub(super) const NEAR: Self = Self(0);
    pub(super) const NOWHERE: Self = Self(u32::MAX);

    pub(super) fn is_list(self) -> bool {
        self != Self::NEAR && self != Self::NOWHERE
    }

    fn index(self) -> usize {
        self.0 as usize - 1
    }
}

/// A slot's place and its neighbours in the list there.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) place: Place,
    previous: u32,
    next: u32,
}

impl Link {
    pub(super) fn next(&self) -> Option<u32> {
        (self.next != NONE).then_some(self.next)
    }
}

impl Default for Link {
    fn default() -> Self {
        Self { place: Place::NOWHERE, previous: NONE, next: NONE }
    }
}

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
    ends: Box<[Ends]>,
    count: usize,
}

impl Lists {
    pub(super) fn new() -> Self {
        Self {
            calendar: Calendar::new(),
            ends: alloc::vec![Ends::EMPTY; BUCKETS].into_boxed_slice(),
            count: 0,
        }
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
        Place(self.calendar.bucket(granule) as u32 + 1)
    }

    /// Puts a slot that is nowhere at the end of a list.
    #[inline]
    pub(super) fn link<T>(&mut self, slots: &mut Slots<Link, T>, number: u32, place: Place) {
        let ends = &mut self.ends[place.index()];
        let last = core::mem::replace(&mut ends.last, number);
        if last == NONE {
            ends.first = number;
            self.calendar.set_occupied(place.index());
        } else {
            slots.slot(last).links.next = number;
        }
        slots.slot(number).links = Link { place, previous: last, next: NONE };
        self.count += 1;
    }

    /// Takes a slot out of the list it is in.
    #[inline]
    pub(super) fn unlink<T>(&mut self, slots: &mut Slots<Link, T>, number: u32) {
        let Link { place, previous, next } = core::mem::take(&mut slots.slot(number).links);
        let ends = &mut self.ends[place.index()];
        if previous == NONE {
            ends.first = next;
        } else {
            slots.slot(previous).links.next = next;
        }
        if next == NONE {
            ends.last = previous;
        } else {
            slots.slot(next).links.previous = previous;
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

    /// Counts a slot that was in a list that was taken.
    pub(super) fn taken(&mut self) {
        self.count -= 1;
    }
}
