//! Buckets of linked timers, for timers that are moved or cancelled.

mod lists;

use super::near::{Entry, Near};
use super::slots::{Slot, Slots};
use super::{Fired, Full, Queue};
use crate::{Expiry, Handle, Stale};
use lists::{Link, Lists, Place};

/// So many entries may be out of date among those due soon, whatever the number of timers.
const GARBAGE_MIN: usize = 64;

/// The queue for timers that nearly always are moved or cancelled before they fire.
///
/// A hierarchical timer wheel (Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987)
/// with 256 buckets a level, the first of one granule each, and linked lists in them. Cancelling takes
/// a timer out of its list at once and leaves nothing behind. Moving it later writes its time; it
/// goes to another bucket when the old one comes up. Timers pass from level to level until their
/// granule comes, which is then sorted.
///
/// Timers fire at their own nanosecond, or at the end of their granule: the user's choice.
///
/// Costs: insert, cancel and move O(1), not amortised. A timer that fires passes through a bucket of
/// each level that separates it from now. One call may open a bucket and look at all timers in it.
///
/// 40 bytes a timer, beside the payload and an `Option` around it; 24 more while in the due granule.
///
/// [`next_expiry_ns`](Queue::next_expiry_ns) may be earlier than the first timer: it is where the next
/// bucket begins.
#[derive(Debug)]
pub struct Wheel<T> {
    slots: Slots<Link, T>,
    /// The granules that are open.
    near: Near,
    near_last: u64,
    lists: Lists,
    sequence: u64,
    slack_max_ns: u64,
    /// Entries in `near` whose timer has been cancelled or moved.
    garbage: usize,
    granule_bits: u32,
    is_coarse: bool,
}

impl<T> Wheel<T> {
    /// The granularity of [`new`](Self::new), ns: 2¹⁰.
    pub const GRANULARITY_DEFAULT_NS: u64 = 1 << 10;

    /// A wheel that fires at the nanosecond, with granules of about a microsecond.
    pub fn new() -> Self {
        Self::exact(Self::GRANULARITY_DEFAULT_NS)
    }

    /// As [`new`](Self::new), with room for so many timers.
    pub fn with_capacity(timers: usize) -> Self {
        let mut wheel = Self::new();
        wheel.reserve(timers);
        wheel
    }

    /// A wheel that sorts a granule when it is due, and so fires every timer at its own nanosecond.
    pub fn exact(granularity_ns: u64) -> Self {
        Self::make(granularity_ns, false)
    }

    /// A wheel that fires timers at the end of their granule: up to [`granularity_ns`] − 1 late, and all
    /// those of a granule in the order of their insertion.
    ///
    /// [`granularity_ns`]: Self::granularity_ns
    pub fn coarse(granularity_ns: u64) -> Self {
        Self::make(granularity_ns, true)
    }

    fn make(granularity_ns: u64, is_coarse: bool) -> Self {
        Self {
            slots: Slots::with_capacity(0),
            near: Near::with_capacity(0),
            near_last: 0,
            lists: Lists::new(),
            sequence: 0,
            slack_max_ns: 0,
            garbage: 0,
            granule_bits: granularity_ns.max(1).ilog2(),
            is_coarse,
        }
    }

    /// Allocates now what so many timers need.
    pub fn reserve(&mut self, timers: usize) {
        self.slots.reserve(timers);
    }

    /// The length of a granule: what was asked for, rounded down to a power of two, ns.
    pub fn granularity_ns(&self) -> u64 {
        1 << self.granule_bits
    }

    /// The time that counts for the order.
    fn due_ns(&self, time_ns: u64) -> u64 {
        if !self.is_coarse {
            return time_ns;
        }
        let below = self.granularity_ns() - 1;
        time_ns.checked_add(below).map_or(u64::MAX, |time_ns| time_ns & !below)
    }

    fn granule(&self, hard_ns: u64) -> u64 {
        self.due_ns(hard_ns) >> self.granule_bits
    }

    fn place(&self, granule: u64) -> Place {
        if granule <= self.near_last { Place::NEAR } else { self.lists.place(granule) }
    }

    fn file(&mut self, number: u32, expiry: Expiry) {
        let sequence = self.sequence;
        self.sequence += 1;
        let slack_ns = self.due_ns(expiry.hard_ns()) - self.due_ns(expiry.soft_ns());
        self.slack_max_ns = self.slack_max_ns.max(slack_ns);
        let wanted = self.place(self.granule(expiry.hard_ns()));
        let slot = self.slots.slot(number);
        let place = slot.links.place;
        slot.set(expiry, sequence);
        // Whoever stands too early is sent on when that comes up.
        if place.is_list() && place <= wanted {
            return;
        }
        self.leave(number);
        self.enter(number, wanted);
    }

    /// Takes a timer from where it is.
    fn leave(&mut self, number: u32) {
        let place = self.slots.slot(number).links.place;
        if place.is_list() {
            self.lists.unlink(&mut self.slots, number);
        } else if place == Place::NEAR {
            // Its entry stays, and is known by its sequence to be none.
            self.slots.slot(number).links.place = Place::NOWHERE;
            self.garbage += 1;
            if self.garbage > self.near.len() / 2 + GARBAGE_MIN {
                let slots = &mut self.slots;
                self.near.retain(|entry| is_valid(slots.slot(entry.slot), entry));
                self.garbage = 0;
            }
        }
    }

    fn enter(&mut self, number: u32, place: Place) {
        if place == Place::NEAR {
            let entry = self.entry(number);
            self.near.insert(entry);
        } else {
            self.lists.link(&mut self.slots, number, place);
        }
    }

    fn entry(&mut self, number: u32) -> Entry {
        let hard_ns = self.slots.slot(number).hard_ns;
        let hard_ns = self.due_ns(hard_ns);
        let slot = self.slots.slot(number);
        slot.links.place = Place::NEAR;
        Entry { hard_ns, sequence: slot.sequence, slot: number }
    }

    /// Drops what is out of date until the first entry is a timer's.
    fn settle(&mut self) -> Option<Entry> {
        loop {
            let Some(&entry) = self.near.first() else {
                if self.lists.is_empty() {
                    return None;
                }
                self.open_next();
                continue;
            };
            if is_valid(self.slots.slot(entry.slot), &entry) {
                return Some(entry);
            }
            self.near.pop();
            self.garbage -= 1;
        }
    }

    /// Opens the next bucket: a granule, or one whose timers go on to lower levels.
    fn open_next(&mut self) {
        let Some(span) = self.lists.next() else { return };
        self.lists.set_base(span.first);
        self.near_last = span.first;
        let mut next = self.lists.take(span.bucket);
        while let Some(number) = next {
            let slot = self.slots.slot(number);
            next = slot.links.next();
            let hard_ns = slot.hard_ns;
            self.lists.taken();
            let granule = self.granule(hard_ns);
            if granule <= span.first {
                let entry = self.entry(number);
                self.near.load(entry);
            } else {
                let place = self.lists.place(granule);
                self.lists.link(&mut self.slots, number, place);
            }
        }
        self.near.sort();
    }
}

fn is_valid<T>(slot: &Slot<Link, T>, entry: &Entry) -> bool {
    slot.sequence == entry.sequence && slot.is_armed()
}

impl<T> Default for Wheel<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Queue<T> for Wheel<T> {
    fn insert(&mut self, expiry: Expiry, payload: T) -> Result<Handle, Full<T>> {
        let handle = self.slots.arm(payload)?;
        self.file(handle.slot, expiry);
        Ok(handle)
    }

    fn cancel(&mut self, handle: Handle) -> Result<T, Stale> {
        self.slots.checked(handle)?;
        let (_, _, payload) = self.slots.disarm(handle.slot);
        self.leave(handle.slot);
        Ok(payload)
    }

    fn rearm(&mut self, handle: Handle, expiry: Expiry) -> Result<(), Stale> {
        self.slots.checked(handle)?;
        self.file(handle.slot, expiry);
        Ok(())
    }

    fn next_expiry_ns(&mut self) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        match self.near.first() {
            Some(entry) => Some(entry.hard_ns),
            None => self.lists.next().map(|span| span.first << self.granule_bits),
        }
    }

    fn pop_expired(&mut self, now_ns: u64) -> Option<Fired<T>> {
        // What makes most calls short: nothing is due before the first bucket or entry.
        let first_ns = self.next_expiry_ns()?;
        if first_ns - self.slack_max_ns.min(first_ns) > now_ns {
            return None;
        }
        let entry = self.settle()?;
        let soft_ns = self.slots.slot(entry.slot).soft_ns();
        if self.due_ns(soft_ns) > now_ns {
            return None;
        }
        self.near.pop();
        self.slots.slot(entry.slot).links.place = Place::NOWHERE;
        let (handle, expiry, payload) = self.slots.disarm(entry.slot);
        Some(Fired { handle, expiry, payload })
    }

    fn expiry(&self, handle: Handle) -> Result<Expiry, Stale> {
        self.slots.checked(handle).map(Slot::expiry)
    }

    fn len(&self) -> usize {
        self.slots.armed()
    }
}
