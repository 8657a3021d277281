//! Where timers are kept: numbered slots, used again.

use super::far::Place;
use crate::queue::{Full, TIMERS_MAX};
use crate::{Expiry, Handle, Stale};
use alloc::vec::Vec;

/// No slot; ends the list of free ones.
const NONE: u32 = u32::MAX;

/// A timer, or room for one: 40 bytes and the payload.
#[derive(Debug)]
pub(super) struct Slot<T> {
    /// While free: that of the last timer here.
    pub(super) hard_ns: u64,
    /// While free: the number of the next free slot.
    pub(super) soft_ns: u64,
    /// Counts insertions and moves over the whole queue; never comes twice. Orders timers of equal
    /// hard expiry. 64 bits last 584 years at one in a nanosecond.
    pub(super) sequence: u64,
    /// The lower half of the sequence in this slot's near entry, where `place` is near.
    pub(super) mark: u32,
    /// Where this slot's one valid entry is. It outlives the timer: see `precise/mod.rs`.
    pub(super) place: Place,
    generation: u32,
    payload: Option<T>,
}

impl<T> Slot<T> {
    pub(super) fn is_armed(&self) -> bool {
        self.payload.is_some()
    }
}

#[derive(Debug)]
pub(super) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: u32,
    armed: usize,
}

impl<T> Slots<T> {
    pub(super) fn with_capacity(timers: usize) -> Self {
        Self { slots: Vec::with_capacity(timers), free: NONE, armed: 0 }
    }

    pub(super) fn armed(&self) -> usize {
        self.armed
    }

    /// Those in use and free ones together.
    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    /// Puts a timer into the slot that was freed last: its memory is likely to be in a cache still.
    /// Where its entry goes is the caller's to settle.
    pub(super) fn arm(&mut self, payload: T) -> Result<Handle, Full<T>> {
        let number = if self.free == NONE {
            if self.slots.len() >= TIMERS_MAX {
                return Err(Full(payload));
            }
            self.slots.push(Slot {
                hard_ns: 0,
                soft_ns: u64::from(NONE),
                sequence: 0,
                mark: 0,
                place: Place::NOWHERE,
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

    pub(super) fn checked(&self, handle: Handle) -> Result<&Slot<T>, Stale> {
        match self.slots.get(handle.slot as usize) {
            Some(slot) if slot.generation == handle.generation && slot.is_armed() => Ok(slot),
            _ => Err(Stale),
        }
    }

    pub(super) fn slot(&mut self, number: u32) -> &mut Slot<T> {
        &mut self.slots[number as usize]
    }

    /// Takes the timer out of an armed slot; its place stays as it is.
    pub(super) fn disarm(&mut self, number: u32) -> (Handle, Expiry, T) {
        let slot = &mut self.slots[number as usize];
        let handle = Handle { slot: number, generation: slot.generation };
        let expiry = Expiry::with_slack(slot.soft_ns, slot.hard_ns - slot.soft_ns);
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
