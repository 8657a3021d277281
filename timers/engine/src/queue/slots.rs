//! Where timers are kept: numbered slots, used again.

use super::{Full, TIMERS_MAX};
use crate::{Expiry, Handle, Stale};
use alloc::vec::Vec;

/// No slot; ends lists.
pub(super) const NONE: u32 = u32::MAX;

/// Where an order has a slot. Earlier places hold earlier times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(u32);

impl Place {
    /// Among those due soon.
    pub(super) const NEAR: Self = Self(0);
    /// In none. Later than any other, so that no time is late enough to leave it there.
    pub(super) const NOWHERE: Self = Self(u32::MAX);
    /// Added to all places of an order by turns, so that a place of before is none of now.
    pub(super) const TURN: u32 = 1 << 24;

    /// In a bucket.
    #[inline]
    pub(super) fn bucket(index: usize, turn: u32) -> Self {
        Self(turn + 1 + index as u32)
    }

    #[inline]
    pub(super) fn is_bucket(self) -> bool {
        self != Self::NEAR && self != Self::NOWHERE
    }

    /// The number of a bucket.
    #[inline]
    pub(super) fn index(self) -> usize {
        (self.0 % Self::TURN) as usize - 1
    }
}

/// What an order keeps in a slot: the place, and two numbers whose meaning is the order's.
#[derive(Debug)]
pub(super) struct Links {
    pub(super) place: Place,
    pub(super) numbers: [u32; 2],
}

/// A timer, or room for one: 40 bytes and the payload.
#[derive(Debug)]
pub(super) struct Slot<T> {
    /// While free: that of the last timer here.
    pub(super) hard_ns: u64,
    /// While free: the number of the next free slot.
    soft_ns: u64,
    /// Counts insertions and moves over the whole queue; never comes twice. Orders timers of equal
    /// hard expiry. 64 bits last 584 years at one in a nanosecond.
    pub(super) sequence: u64,
    /// Outlive the timer.
    pub(super) links: Links,
    generation: u32,
    payload: Option<T>,
}

impl<T> Slot<T> {
    #[inline]
    pub(super) fn is_armed(&self) -> bool {
        self.payload.is_some()
    }

    #[inline]
    pub(super) fn soft_ns(&self) -> u64 {
        self.soft_ns
    }

    #[inline]
    pub(super) fn expiry(&self) -> Expiry {
        Expiry::between(self.soft_ns, self.hard_ns)
    }

    #[inline]
    pub(super) fn set(&mut self, expiry: Expiry, sequence: u64) {
        self.hard_ns = expiry.hard_ns();
        self.soft_ns = expiry.soft_ns();
        self.sequence = sequence;
    }
}

#[derive(Debug)]
pub(super) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: u32,
    armed: usize,
}

impl<T> Slots<T> {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), free: NONE, armed: 0 }
    }

    /// Makes room for `timers` in all.
    pub(super) fn reserve(&mut self, timers: usize) {
        self.slots.reserve_exact(timers.saturating_sub(self.slots.len()));
    }

    pub(super) fn armed(&self) -> usize {
        self.armed
    }

    /// Those in use and free ones together.
    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    /// Puts a timer into the slot that was freed last: its memory is likely to be in a cache still.
    /// Its time is the caller's to set.
    #[inline]
    pub(super) fn arm(&mut self, payload: T) -> Result<Handle, Full<T>> {
        let number = if self.free == NONE {
            if self.slots.len() >= TIMERS_MAX {
                return Err(Full(payload));
            }
            self.slots.push(Slot {
                hard_ns: 0,
                soft_ns: u64::from(NONE),
                sequence: 0,
                links: Links { place: Place::NOWHERE, numbers: [NONE; 2] },
                generation: 0,
                payload: None,
            });
            self.slots.len() as u32 - 1
        } else {
            self.free
        };
        let slot = &mut self.slots[number as usize];
        self.free = slot.soft_ns as u32;
        slot.payload = Some(payload);
        self.armed += 1;
        Ok(Handle { slot: number, generation: slot.generation })
    }

    #[inline]
    pub(super) fn checked(&self, handle: Handle) -> Result<&Slot<T>, Stale> {
        match self.slots.get(handle.slot as usize) {
            Some(slot) if slot.generation == handle.generation && slot.is_armed() => Ok(slot),
            _ => Err(Stale),
        }
    }

    #[inline]
    pub(super) fn slot(&mut self, number: u32) -> &mut Slot<T> {
        &mut self.slots[number as usize]
    }

    /// All slots, with their numbers.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut Slot<T>)> {
        (0..).zip(&mut self.slots)
    }

    /// Takes the timer out of an armed slot; its links stay as they are.
    #[inline]
    pub(super) fn disarm(&mut self, number: u32) -> (Handle, Expiry, T) {
        let slot = &mut self.slots[number as usize];
        let handle = Handle { slot: number, generation: slot.generation };
        let expiry = slot.expiry();
        let payload = slot.payload.take().expect("only armed slots are disarmed");
        self.armed -= 1;
        if slot.generation < u32::MAX {
            slot.generation += 1;
            slot.soft_ns = u64::from(self.free);
            self.free = number;
        } // Else it is never used again, so that no handle ever names two timers.
        (handle, expiry, payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_whose_generations_are_spent_is_not_used_again() {
        let mut slots = Slots::new();
        let arm = |slots: &mut Slots<_>, payload| {
            let handle = slots.arm(payload).unwrap();
            slots.slot(handle.slot).set(Expiry::at(1), 0);
            handle
        };
        let first = arm(&mut slots, 'a');
        slots.disarm(first.slot);
        slots.slots[0].generation = u32::MAX;
        let last = arm(&mut slots, 'b');
        assert_eq!((last.slot, last.generation), (0, u32::MAX));
        assert!(slots.checked(first).is_err());
        slots.disarm(last.slot);
        assert!(slots.checked(last).is_err());
        assert_eq!(arm(&mut slots, 'c').slot, 1);
    }
}
