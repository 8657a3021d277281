//! The `priority-queue` crate: a heap that knows by a hash map where each item is.

use super::slots::{Id, Slots};
use crate::queue::TimerQueue;
use priority_queue::PriorityQueue;
use rustc_hash::FxBuildHasher;
use std::cmp::Reverse;

pub(crate) struct IndexedHeap {
    /// By slot: (expiry, when it was put there).
    heap: PriorityQueue<u32, Reverse<(u64, u64)>, FxBuildHasher>,
    timers: Slots<u32>,
    sequence: u64,
}

impl IndexedHeap {
    pub(crate) fn with_capacity(timers: usize) -> Self {
        Self {
            heap: PriorityQueue::with_capacity_and_hasher(timers, FxBuildHasher),
            timers: Slots::with_capacity(timers),
            sequence: 0,
        }
    }

    fn priority(&mut self, expiry: u64) -> Reverse<(u64, u64)> {
        self.sequence += 1;
        Reverse((expiry, self.sequence))
    }
}

impl TimerQueue for IndexedHeap {
    type Id = Id;

    fn insert(&mut self, expiry: u64, payload: u32) -> Id {
        let id = self.timers.insert(payload);
        let priority = self.priority(expiry);
        self.heap.push(id as u32, priority);
        id
    }

    fn cancel(&mut self, id: Id) -> bool {
        self.timers.remove(id).is_some() && self.heap.remove(&(id as u32)).is_some()
    }

    fn rearm(&mut self, id: &mut Id, expiry: u64) -> bool {
        if self.timers.get(*id).is_none() {
            return false;
        }
        let priority = self.priority(expiry);
        self.heap.change_priority(&(*id as u32), priority).is_some()
    }

    fn pop(&mut self, now: u64) -> Option<u32> {
        self.heap.peek().filter(|(_, Reverse((expiry, _)))| *expiry <= now)?;
        let (slot, _) = self.heap.pop()?;
        self.timers.remove_at(slot)
    }
}
