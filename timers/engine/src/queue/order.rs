//! What queues differ in: how they keep slots in order of time.

use super::near::Entry;
use super::slots::Slots;
use crate::Expiry;

/// Keeps the armed slots of a queue in order. What slots hold is the same for all, so that one order
/// can be exchanged for another.
pub(super) trait Order {
    /// Gives the timer in an armed slot a time, and the slot a place.
    fn file<T>(&mut self, slots: &mut Slots<T>, number: u32, expiry: Expiry, sequence: u64);

    /// Takes in an armed slot that has a time already and no place.
    fn adopt<T>(&mut self, slots: &mut Slots<T>, number: u32);

    /// A slot's timer was cancelled.
    fn forget<T>(&mut self, slots: &mut Slots<T>, number: u32);

    /// A time before which no slot need be looked at, ns.
    fn earliest_ns(&self) -> Option<u64>;

    /// Finds the first armed slot. The entry stays.
    fn first<T>(&mut self, slots: &mut Slots<T>) -> Option<Entry>;

    /// Takes out what [`first`](Self::first) found.
    fn take_first<T>(&mut self, slots: &mut Slots<T>, entry: Entry);

    /// The time at which a timer set to `time_ns` counts as due.
    fn due_ns(&self, time_ns: u64) -> u64;

    /// Makes room for so many timers.
    fn reserve(&mut self, timers: usize);

    /// Drops everything but memory. Slots' places are the caller's to clear.
    fn clear(&mut self);
}
