//! Who is armed under a policy: a key stays the same wherever the timer moves.

use crate::policy::Arm;
use crate::queue::{Full, TIMERS_MAX};
use crate::{Handle, Stale};
use alloc::vec::Vec;

/// Names one timer of one policy, from when it is armed until its callback runs or it is cancelled,
/// through all queues and lists in between.
///
/// After that it is stale for ever: no later timer gets an equal key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Handle);

impl Key {
    /// As one number.
    pub const fn to_bits(self) -> u64 {
        self.0.to_bits()
    }

    /// From what [`to_bits`](Self::to_bits) gave. Any other number makes a key that is stale.
    pub const fn from_bits(bits: u64) -> Self {
        Self(Handle::from_bits(bits))
    }

    pub(super) fn slot(self) -> u32 {
        self.0.slot
    }
}

/// Where a timer waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the policy's queue of this number, under this handle.
    Queue(u8, Handle),
    /// Expired, in its lane, until its context runs it.
    Pending,
    /// On its way from one to another.
    Nowhere,
}

/// An armed timer.
#[derive(Debug)]
pub(crate) struct Timer<T> {
    pub(crate) arm: Arm,
    pub(crate) payload: T,
    /// The lane it will wait in when it has expired; settled when it is armed.
    pub(crate) lane: u8,
    /// Its priority, 0–99; settled when it is armed.
    pub(crate) priority: u8,
    pub(crate) place: Place,
}

/// The sign for no slot; [`TIMERS_MAX`] is below it.
pub(super) const NO_SLOT: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Slot<T> {
    generation: u32,
    pub(super) timer: Option<Timer<T>>,
    /// The neighbours in its lane; of a free slot, the next free one.
    pub(super) previous: u32,
    pub(super) next: u32,
}

/// All timers of one policy, at most [`TIMERS_MAX`].
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: u32,
    len: usize,
}

impl<T> Slots<T> {
    pub(crate) fn with_capacity(timers: usize) -> Self {
        Self { slots: Vec::with_capacity(timers.min(TIMERS_MAX)), free: NO_SLOT, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Takes a timer in.
    pub(crate) fn insert(&mut self, timer: Timer<T>) -> Result<Key, Full<T>> {
        let at = if self.free == NO_SLOT {
            if self.slots.len() >= TIMERS_MAX {
                return Err(Full(timer.payload));
            }
            let slot = Slot { generation: 0, timer: None, previous: NO_SLOT, next: NO_SLOT };
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        } else {
            self.free
        };
        let slot = &mut self.slots[at as usize];
        if self.free == at {
            self.free = slot.next;
        }
        slot.previous = NO_SLOT;
        slot.next = NO_SLOT;
        slot.timer = Some(timer);
        self.len += 1;
        Ok(Key(Handle { slot: at, generation: slot.generation }))
    }

    /// Lets a timer go; its key is stale from then on.
    pub(crate) fn remove(&mut self, key: Key) -> Result<Timer<T>, Stale> {
        let free = self.free;
        let slot = self.slot_of(key)?;
        let timer = slot.timer.take().ok_or(Stale)?;
        // A slot whose generations are used up is never used again, or an old key would revive.
        if let Some(generation) = slot.generation.checked_add(1) {
            slot.generation = generation;
            slot.next = free;
            self.free = key.slot();
        }
        self.len -= 1;
        Ok(timer)
    }

    pub(crate) fn get(&self, key: Key) -> Result<&Timer<T>, Stale> {
        self.slots
            .get(key.slot() as usize)
            .filter(|slot| slot.generation == key.0.generation)
            .and_then(|slot| slot.timer.as_ref())
            .ok_or(Stale)
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Result<&mut Timer<T>, Stale> {
        self.slot_of(key)?.timer.as_mut().ok_or(Stale)
    }

    fn slot_of(&mut self, key: Key) -> Result<&mut Slot<T>, Stale> {
        self.slots
            .get_mut(key.slot() as usize)
            .filter(|slot| slot.generation == key.0.generation)
            .ok_or(Stale)
    }

    /// The key of the timer in a slot in use.
    pub(super) fn key_at(&self, at: u32) -> Key {
        Key(Handle { slot: at, generation: self.slots[at as usize].generation })
    }

    pub(super) fn at(&self, at: u32) -> &Slot<T> {
        &self.slots[at as usize]
    }

    pub(super) fn at_mut(&mut self, at: u32) -> &mut Slot<T> {
        &mut self.slots[at as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Expiry;

    fn timer(payload: u32) -> Timer<u32> {
        let arm = Arm::kernel(Expiry::at(0));
        Timer { arm, payload, lane: 0, priority: 0, place: Place::Nowhere }
    }

    #[test]
    fn within_its_room_it_does_not_grow() {
        let mut slots = Slots::with_capacity(8);
        let capacity = slots.slots.capacity();
        for round in 0..100 {
            let keys: Vec<Key> = (0..8).map(|n| slots.insert(timer(n)).unwrap()).collect();
            for at in 0..8 {
                let key = keys[(at + round) % 8];
                assert!(slots.remove(key).is_ok());
                assert!(slots.remove(key).is_err());
            }
        }
        assert_eq!((slots.len(), slots.slots.capacity()), (0, capacity));
    }

    #[test]
    fn a_slot_whose_generations_are_used_up_is_retired() {
        let mut slots = Slots::with_capacity(1);
        let first = slots.insert(timer(1)).unwrap();
        slots.slots[0].generation = u32::MAX;
        let last = slots.key_at(0);
        assert!(slots.get(first).is_err());
        assert!(slots.remove(last).is_ok());
        assert!(slots.get(last).is_err());
        let next = slots.insert(timer(2)).unwrap();
        assert_eq!((next.slot(), slots.len()), (1, 1));
        assert!(slots.remove(last).is_err());
    }
}
