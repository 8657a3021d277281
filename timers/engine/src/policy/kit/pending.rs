//! Timers that have expired and wait for their context: one lane per order in which they are run.

use super::slots::{Key, NO_SLOT, Place, Slots, Timer};
use crate::policy::THREAD_PRIORITY_MAX;
use alloc::vec;
use alloc::vec::Vec;

/// Priorities of threads.
const PRIORITIES: usize = THREAD_PRIORITY_MAX as usize + 1;

/// The most lanes: one per thread priority, and one of the interrupt.
pub(crate) const LANES_MAX: usize = PRIORITIES + 1;

/// The lanes, each a list in time order: by hard expiry, then as they came, or by priority before that.
///
/// The lists run through the slots, so nothing is allocated, and whoever waits in one can be taken out
/// at once. Timers come in time order but for one that was armed late for an early time; it is
/// walked from the end to its place, and by priority so is one behind equals of lower ones.
#[derive(Debug)]
pub(crate) struct Pending {
    lanes: Vec<Lane>,
    /// A bit per lane that has someone.
    busy: u128,
    /// How many wait, by their own priority, and a bit per priority that has someone.
    waiting: [u32; PRIORITIES],
    priorities: u128,
    equals: Equals,
}

/// Who comes first of those that expire at the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Equals {
    AsTheyCame,
    ByPriority,
}

#[derive(Clone, Copy, Debug)]
struct Lane {
    head: u32,
    tail: u32,
}

impl Pending {
    /// So many lanes, at most [`LANES_MAX`].
    pub(crate) fn new(lanes: usize, equals: Equals) -> Self {
        let empty = Lane { head: NO_SLOT, tail: NO_SLOT };
        let lanes = vec![empty; lanes.min(LANES_MAX)];
        Self { lanes, busy: 0, waiting: [0; PRIORITIES], priorities: 0, equals }
    }

    /// The highest priority of anyone who waits, in any lane.
    pub(crate) fn highest_priority(&self) -> Option<u8> {
        highest(self.priorities)
    }

    /// The highest lane that has someone, of those in `mask`.
    pub(crate) fn highest_lane(&self, mask: u128) -> Option<u8> {
        highest(self.busy & mask)
    }

    /// Who is first in a lane.
    pub(crate) fn first<T>(&self, slots: &Slots<T>, lane: u8) -> Option<Key> {
        let head = self.lanes[usize::from(lane)].head;
        (head != NO_SLOT).then(|| slots.key_at(head))
    }

    /// Lets a timer wait in its lane.
    pub(crate) fn push<T>(&mut self, slots: &mut Slots<T>, key: Key) {
        let Ok(timer) = slots.get_mut(key) else { return };
        timer.place = Place::Pending;
        let (lane, priority, turn) = (timer.lane, timer.priority, self.turn(timer));
        let mut before = self.lanes[usize::from(lane)].tail;
        while before != NO_SLOT
            && slots.at(before).timer.as_ref().is_some_and(|timer| self.turn(timer) > turn)
        {
            before = slots.at(before).previous;
        }
        self.link(slots, lane, before, key.slot());
        self.busy |= 1 << lane;
        self.waiting[usize::from(priority)] += 1;
        self.priorities |= 1 << priority;
    }

    /// Takes a timer out of its lane.
    pub(crate) fn remove<T>(&mut self, slots: &mut Slots<T>, key: Key) {
        let Ok(timer) = slots.get_mut(key) else { return };
        timer.place = Place::Nowhere;
        let (at, priority) = (usize::from(timer.lane), usize::from(timer.priority));
        let slot = slots.at_mut(key.slot());
        let (previous, next) = (slot.previous, slot.next);
        (slot.previous, slot.next) = (NO_SLOT, NO_SLOT);
        let lane = &mut self.lanes[at];
        if previous == NO_SLOT {
            lane.head = next;
        } else {
            slots.at_mut(previous).next = next;
        }
        if next == NO_SLOT {
            lane.tail = previous;
        } else {
            slots.at_mut(next).previous = previous;
        }
        if lane.head == NO_SLOT {
            self.busy &= !(1 << at);
        }
        self.waiting[priority] -= 1;
        if self.waiting[priority] == 0 {
            self.priorities &= !(1 << priority);
        }
    }

    /// Who has less of it goes first.
    fn turn<T>(&self, timer: &Timer<T>) -> (u64, u8) {
        let after = match self.equals {
            Equals::AsTheyCame => 0,
            Equals::ByPriority => THREAD_PRIORITY_MAX.saturating_sub(timer.priority),
        };
        (timer.arm.expiry.hard_ns(), after)
    }

    /// Links a slot behind `before`, or to the front.
    fn link<T>(&mut self, slots: &mut Slots<T>, lane: u8, before: u32, at: u32) {
        let lane = &mut self.lanes[usize::from(lane)];
        let after = if before == NO_SLOT { lane.head } else { slots.at(before).next };
        let slot = slots.at_mut(at);
        (slot.previous, slot.next) = (before, after);
        if before == NO_SLOT {
            lane.head = at;
        } else {
            slots.at_mut(before).next = at;
        }
        if after == NO_SLOT {
            lane.tail = at;
        } else {
            slots.at_mut(after).previous = at;
        }
    }
}

fn highest(bits: u128) -> Option<u8> {
    bits.checked_ilog2().map(|bit| bit as u8)
}
