//! Slots in order, for timers that fire.

use super::far::Far;
use crate::Expiry;
use crate::queue::calendar;
use crate::queue::near::{Entry, Near};
use crate::queue::order::Order;
use crate::queue::slots::{Place, Slot, Slots};

/// A bucket of up to this many is sorted; a larger one is split first.
const LOAD_MAX: usize = 96;
/// Buckets are opened until there are this many to go on with, as long as they are small.
const LOAD_MIN: usize = 8;
/// At this many due soon, the later ones are no longer called soon.
const SPILL: usize = 32;
/// And this many stay.
const SPILL_KEEP: usize = 8;
/// The base is set back for those set to times before it when they are this part of all others, so
/// that moving the others is paid for.
const EARLY_SHARE: usize = 8;
/// So many entries may be garbage whatever the number of timers.
const GARBAGE_MIN: usize = 256;
/// So many timers due in the same nanosecond find memory reserved.
const NEAR_RESERVED: usize = 1024;

/// What `Links::numbers` mean here: the lower half of the sequence in a slot's near entry, where its
/// place is near.
const MARK: usize = 0;

/// Entries, of which a slot has one that counts; see [`Precise`](super::Precise).
#[derive(Debug)]
pub(in crate::queue) struct PreciseOrder {
    near: Near,
    /// What is up to here is near.
    near_last_ns: u64,
    far: Far,
    /// Entries that do not count any more.
    garbage: usize,
    spill_at: usize,
}

impl PreciseOrder {
    pub(in crate::queue) fn new() -> Self {
        Self {
            near: Near::new(),
            near_last_ns: u64::MAX,
            far: Far::new(),
            garbage: 0,
            spill_at: SPILL,
        }
    }

    #[inline]
    fn place(&self, hard_ns: u64) -> Place {
        if hard_ns <= self.near_last_ns { Place::NEAR } else { self.far.place(hard_ns) }
    }

    #[inline]
    fn enter<T>(&mut self, slots: &mut Slots<T>, number: u32, place: Place) {
        let slot = slots.slot(number);
        slot.links.place = place;
        if place == Place::NEAR {
            let entry = near_entry(slot, number);
            if self.near.insert(entry) && self.near.len() > self.spill_at {
                self.spill(slots);
            }
        } else {
            self.far.push(place, slot.hard_ns, number);
        }
    }

    /// Drops entries, and moves those whose timers have moved, until the first is a timer's.
    fn settle<T>(&mut self, slots: &mut Slots<T>) -> Option<Entry> {
        loop {
            let Some(&entry) = self.near.first() else {
                if self.refill(slots) {
                    continue;
                }
                return None;
            };
            let slot = slots.slot(entry.slot);
            if entry.is_of(slot) {
                return Some(entry);
            }
            self.near.pop();
            if !counts(slot, &entry) {
                self.garbage = self.garbage.saturating_sub(1);
                continue;
            }
            slot.links.place = Place::NOWHERE;
            if slot.is_armed() {
                // Moved later, or another timer in the slot since.
                let place = self.place(slot.hard_ns);
                self.enter(slots, entry.slot, place);
            }
        }
    }

    /// With nothing near, looks for what is next. Whether there may be something.
    fn refill<T>(&mut self, slots: &mut Slots<T>) -> bool {
        while let Some(next) = self.far.next() {
            if !self.near.is_empty() && next.count + self.near.len() > LOAD_MAX {
                break;
            }
            let is_small = next.count <= LOAD_MAX;
            // What has many digits in common skips the levels of those.
            self.far.set_base(if is_small { next.span.first } else { next.common_ns });
            self.near_last_ns = if is_small { next.span.last } else { next.common_ns };
            self.redistribute(slots, next.place);
            if self.near.len() >= LOAD_MIN {
                break;
            }
        }
        // So few that buckets are not worth it; but what comes after many due now is not near them.
        if self.far.count() == 0 && self.near.len() < LOAD_MIN {
            self.far.set_base(0);
            self.near_last_ns = u64::MAX;
        }
        self.near.sort();
        // Else the first to be set to a time near these would send them all away again.
        self.spill_at = SPILL.max(self.near.len() * 2);
        !self.near.is_empty()
    }

    /// Opens a bucket; what is near now goes there, the rest into other buckets.
    fn redistribute<T>(&mut self, slots: &mut Slots<T>, place: Place) {
        let mut opened = self.far.open(place);
        while let Some((numbers, used)) = self.far.drain(&mut opened) {
            // Slots are all over the memory. Asked for together they come together.
            let mut reached = 0;
            for &number in &numbers[..used] {
                reached ^= slots.slot(number).sequence;
            }
            core::hint::black_box(reached);
            for &number in &numbers[..used] {
                let slot = slots.slot(number);
                if slot.links.place != place {
                    self.garbage = self.garbage.saturating_sub(1);
                } else if !slot.is_armed() {
                    slot.links.place = Place::NOWHERE;
                } else if slot.hard_ns <= self.near_last_ns {
                    slot.links.place = Place::NEAR;
                    self.near.load(near_entry(slot, number));
                } else {
                    slot.links.place = self.far.place(slot.hard_ns);
                    self.far.push(slot.links.place, slot.hard_ns, number);
                }
            }
        }
    }

    /// Calls less of the future near, so that few entries are kept in order.
    fn spill<T>(&mut self, slots: &mut Slots<T>) {
        self.near.merge();
        let base_ns = self.far.base_ns();
        let early = self.near.merged().partition_point(|entry| entry.hard_ns < base_ns);
        if early > SPILL_KEEP {
            // Far was opened ahead of time, and many have been set to times before it.
            if early < self.far.count() / EARLY_SHARE {
                self.spill_at = self.near.len() * 2;
                return;
            }
            let first_ns = self.near.merged()[0].hard_ns;
            self.sweep(slots, first_ns);
        }
        let base_ns = self.far.base_ns();
        let Some(limit) = self.near.merged().get(SPILL_KEEP) else { return };
        // Where so many are due at once, they stay.
        let last_ns = if limit.hard_ns > base_ns {
            calendar::last_before(base_ns, limit.hard_ns)
        } else {
            base_ns
        };
        self.near_last_ns = last_ns;
        let Self { near, far, garbage, .. } = self;
        near.retain(|entry| {
            let slot = slots.slot(entry.slot);
            if !is_kept(slot, entry, garbage) {
                return false;
            }
            // It may be early for a timer that was moved; that is found when it comes up.
            if entry.hard_ns <= last_ns {
                return true;
            }
            slot.links.place = far.place(slot.hard_ns);
            far.push(slot.links.place, slot.hard_ns, entry.slot);
            false
        });
        self.spill_at = SPILL.max(self.near.len() * 2);
    }

    /// Drops garbage, and entries of free slots with it; sees far from another base.
    fn sweep<T>(&mut self, slots: &mut Slots<T>, base_ns: u64) {
        let Self { near, far, garbage, .. } = self;
        near.retain(|entry| is_kept(slots.slot(entry.slot), entry, garbage));
        far.sweep(slots, base_ns);
        *garbage = 0;
    }
}

#[inline]
fn near_entry<T>(slot: &mut Slot<T>, number: u32) -> Entry {
    slot.links.numbers[MARK] = slot.sequence as u32;
    Entry { hard_ns: slot.hard_ns, sequence: slot.sequence, slot: number }
}

/// Whether a near entry is its slot's one that counts. (Half a sequence may be the same by chance; then
/// the slot is looked at once more than need be.)
#[inline]
fn counts<T>(slot: &Slot<T>, entry: &Entry) -> bool {
    slot.links.place == Place::NEAR && slot.links.numbers[MARK] == entry.sequence as u32
}

/// Whether a near entry leads to a timer. One that is dropped is garbage no more, or leaves its free slot
/// without an entry.
fn is_kept<T>(slot: &mut Slot<T>, entry: &Entry, garbage: &mut usize) -> bool {
    if !counts(slot, entry) {
        *garbage = garbage.saturating_sub(1);
        return false;
    }
    if !slot.is_armed() {
        slot.links.place = Place::NOWHERE;
    }
    slot.is_armed()
}

fn garbage_max(slots: usize) -> usize {
    slots / 2 + GARBAGE_MIN
}

impl Order for PreciseOrder {
    #[inline]
    fn file<T>(&mut self, slots: &mut Slots<T>, number: u32, expiry: Expiry, sequence: u64) {
        let hard_ns = expiry.hard_ns();
        let wanted = self.place(hard_ns);
        let slot = slots.slot(number);
        let place = slot.links.place;
        // The near entry's own time is not kept, but it is no later than any the slot had since.
        let is_early_enough =
            place < wanted || place == wanted && (wanted != Place::NEAR || slot.hard_ns <= hard_ns);
        slot.set(expiry, sequence);
        if is_early_enough {
            return;
        }
        // Counted first: to enter may drop it.
        self.garbage += usize::from(place != Place::NOWHERE);
        self.enter(slots, number, wanted);
        if self.garbage > garbage_max(slots.count()) {
            self.sweep(slots, self.far.base_ns());
        }
    }

    fn adopt<T>(&mut self, slots: &mut Slots<T>, number: u32) {
        let place = self.place(slots.slot(number).hard_ns);
        self.enter(slots, number, place);
    }

    #[inline]
    fn forget<T>(&mut self, _: &mut Slots<T>, _: u32) {}

    #[inline]
    fn earliest_ns(&self) -> Option<u64> {
        match self.near.first() {
            Some(entry) => Some(entry.hard_ns),
            None => self.far.next().map(|next| next.span.first),
        }
    }

    #[inline]
    fn first<T>(&mut self, slots: &mut Slots<T>) -> Option<Entry> {
        if let Some(&entry) = self.near.first() {
            let slot = slots.slot(entry.slot);
            if entry.is_of(slot) {
                return Some(entry);
            }
        }
        self.settle(slots)
    }

    #[inline]
    fn take_first<T>(&mut self, slots: &mut Slots<T>, entry: Entry) {
        self.near.pop();
        slots.slot(entry.slot).links.place = Place::NOWHERE;
    }

    #[inline]
    fn due_ns(&self, time_ns: u64) -> u64 {
        time_ns
    }

    fn reserve(&mut self, timers: usize) {
        let entries = timers + garbage_max(timers);
        self.near.reserve(entries.min(NEAR_RESERVED));
        if entries > SPILL {
            self.far.reserve(entries);
        }
    }

    fn clear(&mut self) {
        self.near.clear();
        self.near_last_ns = u64::MAX;
        self.far.clear();
        self.garbage = 0;
        self.spill_at = SPILL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use fastrand::Rng;

    /// Every entry is a slot's that counts, or is known to be garbage.
    fn check(order: &PreciseOrder, slots: &mut Slots<()>) {
        let placed =
            slots.iter_mut().filter(|(_, slot)| slot.links.place != Place::NOWHERE).count();
        assert_eq!(order.near.len() + order.far.count(), placed + order.garbage);
        assert!(order.garbage <= garbage_max(slots.count()));
    }

    #[test]
    fn garbage_is_counted_and_bounded() {
        let (mut order, mut slots) = (PreciseOrder::new(), Slots::new());
        let mut rng = Rng::with_seed(1);
        let mut handles = Vec::new();
        for sequence in 0..100_000 {
            let expiry = Expiry::at(rng.u64(..) >> rng.u32(30..64));
            let at = rng.usize(..=handles.len());
            if handles.len() < 2_000 && rng.bool() {
                let handle = slots.arm(()).unwrap();
                order.file(&mut slots, handle.slot, expiry, sequence);
                handles.push(handle);
            } else if at == handles.len() {
                if let Some(entry) = order.first(&mut slots) {
                    order.take_first(&mut slots, entry);
                    let (fired, ..) = slots.disarm(entry.slot);
                    handles.retain(|&handle| handle != fired);
                }
            } else if rng.u8(..) < 64 {
                slots.disarm(handles.swap_remove(at).slot);
            } else {
                order.file(&mut slots, handles[at].slot, expiry, sequence);
            }
            if sequence % 64 == 0 {
                check(&order, &mut slots);
            }
        }
        while order.first(&mut slots).map(|entry| order.take_first(&mut slots, entry)).is_some() {}
        check(&order, &mut slots);
        assert_eq!(order.garbage, 0);
    }
}
