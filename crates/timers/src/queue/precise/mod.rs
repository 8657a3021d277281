//! Nanosecond order at a constant price.

mod far;

use super::calendar;
use super::near::{Entry, Near};
use super::slots::{Slot, Slots};
use super::{Fired, Full, Queue};
use crate::{Expiry, Handle, Stale};
use far::{Far, Place};

/// A bucket of up to this many is sorted; a larger one is split first.
const LOAD_MAX: usize = 192;
/// Buckets are opened until there are this many to go on with, as long as they are small.
const LOAD_MIN: usize = 32;
/// At this many due soon, the later ones are no longer called soon.
const SPILL: usize = 256;
/// And this many stay.
const SPILL_KEEP: usize = 64;
/// So many entries may be garbage whatever the number of timers.
const GARBAGE_MIN: usize = 256;

/// The queue for timers that fire: exact to the nanosecond.
///
/// Timers sit in *slots*. Their order is held by *entries*, of which a slot has one at a time: those of
/// timers due soon, sorted; those of all others, as bare slot numbers in buckets by the digits of their
/// time, sorted when they become the next (a radix sort that is put off for as long as can be). An
/// entry is a promise to look at the slot no later than at a certain time, nothing more. So
///
/// - moving a timer later writes its slot and leaves the entry where it is; when that comes up, it
///   goes to where the timer now belongs;
/// - cancelling frees the slot and leaves the entry; the next timer in the slot takes it over, or it is
///   dropped when it comes up;
/// - moving a timer earlier makes a second entry; the first is garbage. When garbage exceeds half
///   the slots it is swept.
///
/// Costs, amortised: insert, cancel and move O(1); a timer that fires passes through as many levels of
/// buckets as the timers are many, log₂₅₆ of their number. A single call may open a bucket and so look at
/// all timers in it; a timer queue of 10⁷ may so stop for some 100 ms, where a heap would take
/// microseconds each time.
///
/// 40 bytes a timer, beside the payload and an `Option` around it, and 6 bytes of entry.
///
/// [`next_expiry_ns`](Queue::next_expiry_ns) is exact.
#[derive(Debug)]
pub struct Precise<T> {
    slots: Slots<Link, T>,
    near: Near,
    /// What is up to here is near.
    near_last_ns: u64,
    far: Far,
    sequence: u64,
    /// The longest slack there was since the queue was empty.
    slack_max_ns: u64,
    /// Entries that no slot knows of any more.
    garbage: usize,
    spill_at: usize,
}

/// What a slot knows of its one valid entry.
#[derive(Debug)]
struct Link {
    place: Place,
    /// The lower half of the entry's sequence, where the place is near.
    mark: u32,
}

impl Default for Link {
    fn default() -> Self {
        Self { place: Place::NOWHERE, mark: 0 }
    }
}

impl<T> Precise<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// An empty queue that allocates nothing until there are more than `timers`, or more than a
    /// thousand due in the same nanosecond.
    pub fn with_capacity(timers: usize) -> Self {
        let entries = timers + garbage_max(timers);
        Self {
            slots: Slots::with_capacity(timers),
            near: Near::with_capacity(if timers == 0 { 0 } else { SPILL }),
            near_last_ns: u64::MAX,
            far: Far::with_capacity(if entries > SPILL { entries } else { 0 }),
            sequence: 0,
            slack_max_ns: 0,
            garbage: 0,
            spill_at: SPILL,
        }
    }

    /// The time up to which no timer need be looked at, ns; no later than the first hard expiry.
    /// Changes nothing.
    pub(super) fn earliest_entry_ns(&self) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        match self.near.first() {
            Some(entry) => Some(entry.hard_ns),
            None => self.far.next().map(|(_, span, _)| span.first),
        }
    }

    /// Gives the timer in a slot its time, and an entry if its own comes too late.
    fn file(&mut self, number: u32, expiry: Expiry) {
        let sequence = self.sequence;
        self.sequence += 1;
        let hard_ns = expiry.hard_ns();
        self.slack_max_ns = self.slack_max_ns.max(expiry.slack_ns());
        let wanted = self.place(hard_ns);
        let slot = self.slots.slot(number);
        // The near entry's own time is not kept, but it is no later than any the slot had since.
        let is_early_enough = slot.links.place < wanted
            || slot.links.place == wanted && (wanted != Place::NEAR || slot.hard_ns <= hard_ns);
        slot.set(expiry, sequence);
        if is_early_enough {
            return;
        }
        let had_entry = slot.links.place != Place::NOWHERE;
        self.enter(number, wanted);
        if had_entry {
            self.garbage += 1;
            if self.garbage > garbage_max(self.slots.count()) {
                self.sweep();
            }
        }
        if self.near.len() > self.spill_at {
            self.spill();
        }
    }

    fn enter(&mut self, number: u32, place: Place) {
        let slot = self.slots.slot(number);
        slot.links.place = place;
        if place == Place::NEAR {
            slot.links.mark = slot.sequence as u32;
            let entry = Entry { hard_ns: slot.hard_ns, sequence: slot.sequence, slot: number };
            self.near.insert(entry);
        } else {
            self.far.push(place, number);
        }
    }

    /// Makes the first entry one that says the truth about its timer, and returns it.
    fn settle(&mut self) -> Option<Entry> {
        loop {
            let Some(&entry) = self.near.first() else {
                if self.refill() {
                    continue;
                }
                return None;
            };
            let slot = self.slots.slot(entry.slot);
            if slot.sequence == entry.sequence && slot.is_armed() {
                return Some(entry);
            }
            self.near.pop();
            if slot.links.place != Place::NEAR || slot.links.mark != entry.sequence as u32 {
                self.garbage = self.garbage.saturating_sub(1);
                continue;
            }
            slot.links.place = Place::NOWHERE;
            if slot.is_armed() {
                // Moved later, or another timer in the slot since.
                let hard_ns = slot.hard_ns;
                let place = self.place(hard_ns);
                self.enter(entry.slot, place);
            }
        }
    }

    fn place(&self, hard_ns: u64) -> Place {
        if hard_ns <= self.near_last_ns { Place::NEAR } else { self.far.place(hard_ns) }
    }

    /// With nothing near, looks for what is next. Whether there may be something.
    fn refill(&mut self) -> bool {
        self.spill_at = SPILL;
        while let Some((place, span, count)) = self.far.next() {
            if !self.near.is_empty() && count + self.near.len() > LOAD_MAX {
                break;
            }
            let is_one_time = span.first == span.last;
            let is_small = count <= LOAD_MAX || is_one_time;
            self.far.set_base(span.first);
            self.near_last_ns = if is_small { span.last } else { span.first };
            self.redistribute(place);
            if self.near.len() >= LOAD_MIN {
                break;
            }
        }
        if self.far.count() == 0 {
            self.far.set_base(0);
            self.near_last_ns = u64::MAX;
        }
        self.near.sort();
        !self.near.is_empty()
    }

    /// Opens a bucket; what is near now goes there, the rest into other buckets.
    fn redistribute(&mut self, place: Place) {
        let mut opened = self.far.open(place);
        while let Some((numbers, used)) = self.far.drain(&mut opened) {
            // Slots are all over the memory. Asked for together they come together.
            let mut reached = 0;
            for &number in &numbers[..used] {
                reached ^= self.slots.slot(number).sequence;
            }
            core::hint::black_box(reached);
            for &number in &numbers[..used] {
                let slot = self.slots.slot(number);
                if slot.links.place != place {
                    self.garbage = self.garbage.saturating_sub(1);
                } else if !slot.is_armed() {
                    slot.links.place = Place::NOWHERE;
                } else if slot.hard_ns <= self.near_last_ns {
                    slot.links.place = Place::NEAR;
                    slot.links.mark = slot.sequence as u32;
                    let (hard_ns, sequence) = (slot.hard_ns, slot.sequence);
                    self.near.load(Entry { hard_ns, sequence, slot: number });
                } else {
                    slot.links.place = self.far.place(slot.hard_ns);
                    self.far.push(slot.links.place, number);
                }
            }
        }
    }

    /// Calls less of the future near, so that few entries are kept in order.
    fn spill(&mut self) {
        self.near.merge();
        let entries = self.near.merged();
        let first_ns = entries.first().map_or(0, |entry| entry.hard_ns).max(self.far.base_ns());
        let beyond = entries.iter().skip(SPILL_KEEP).find(|entry| entry.hard_ns > first_ns);
        let Some(&Entry { hard_ns: beyond_ns, .. }) = beyond else {
            // All due at once.
            self.spill_at = self.near.len() * 2;
            return;
        };
        let (base_ns, last_ns) = calendar::common(first_ns, beyond_ns);
        self.far.set_base(base_ns);
        self.near_last_ns = last_ns;
        let Self { slots, near, far, garbage, .. } = self;
        near.retain(|entry| {
            let slot = slots.slot(entry.slot);
            if slot.links.place != Place::NEAR || slot.links.mark != entry.sequence as u32 {
                *garbage = garbage.saturating_sub(1);
                return false;
            }
            if !slot.is_armed() {
                slot.links.place = Place::NOWHERE;
                return false;
            }
            // It may be early for a timer that was moved; that is found when it comes up.
            if entry.hard_ns <= last_ns {
                return true;
            }
            slot.links.place = far.place(slot.hard_ns);
            far.push(slot.links.place, entry.slot);
            false
        });
        self.spill_at = SPILL.max(self.near.len() * 2);
    }

    /// Drops garbage, and entries of free slots with it.
    fn sweep(&mut self) {
        let Self { slots, near, far, .. } = self;
        near.retain(|entry| {
            let slot = slots.slot(entry.slot);
            let is_valid =
                slot.links.place == Place::NEAR && slot.links.mark == entry.sequence as u32;
            if is_valid && !slot.is_armed() {
                slot.links.place = Place::NOWHERE;
            }
            is_valid && slot.is_armed()
        });
        far.sweep(|number, from, to| {
            let slot = slots.slot(number);
            if slot.links.place != from {
                return false;
            }
            slot.links.place = if slot.is_armed() { to } else { Place::NOWHERE };
            slot.is_armed()
        });
        self.garbage = 0;
    }
}

fn garbage_max(slots: usize) -> usize {
    slots / 2 + GARBAGE_MIN
}

impl<T> Default for Precise<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Queue<T> for Precise<T> {
    fn insert(&mut self, expiry: Expiry, payload: T) -> Result<Handle, Full<T>> {
        let handle = self.slots.arm(payload)?;
        self.file(handle.slot, expiry);
        Ok(handle)
    }

    fn cancel(&mut self, handle: Handle) -> Result<T, Stale> {
        self.slots.checked(handle)?;
        let (_, _, payload) = self.slots.disarm(handle.slot);
        Ok(payload)
    }

    fn rearm(&mut self, handle: Handle, expiry: Expiry) -> Result<(), Stale> {
        self.slots.checked(handle)?;
        self.file(handle.slot, expiry);
        Ok(())
    }

    fn next_expiry_ns(&mut self) -> Option<u64> {
        self.settle().map(|entry| entry.hard_ns)
    }

    fn pop_expired(&mut self, now_ns: u64) -> Option<Fired<T>> {
        // What makes most calls short: the first entry is no later than the first timer.
        if let Some(entry) = self.near.first()
            && entry.hard_ns - self.slack_max_ns.min(entry.hard_ns) > now_ns
        {
            return None;
        }
        let entry = self.settle()?;
        let slot = self.slots.slot(entry.slot);
        if slot.soft_ns() > now_ns {
            return None;
        }
        self.near.pop();
        slot.links.place = Place::NOWHERE;
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
