//! std's binary heap with lazy deletion: what is cancelled or moved stays in the heap until it comes to
//! the top, or until there is more of it than of armed timers.

use super::slots::{Id, Slots};
use crate::queue::TimerQueue;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Garbage that is never worth a pass through the heap.
const GARBAGE_MIN: usize = 64;

pub(crate) struct LazyHeap {
    /// (expiry, when it was put there, slot)
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    timers: Slots<Timer>,
    sequence: u64,
}

struct Timer {
    /// Of its one entry in the heap that counts.
    sequence: u64,
    payload: u32,
}

impl LazyHeap {
    pub(crate) fn with_capacity(timers: usize) -> Self {
        Self {
            heap: BinaryHeap::with_capacity(timers),
            timers: Slots::with_capacity(timers),
            sequence: 0,
        }
    }

    fn push(&mut self, expiry: u64, slot: u32) {
        self.heap.push(Reverse((expiry, self.sequence, slot)));
        self.sequence += 1;
    }

    fn collect_garbage(&mut self) {
        if self.heap.len() > 2 * self.timers.len() + GARBAGE_MIN {
            let timers = &mut self.timers;
            self.heap.retain(|Reverse((_, sequence, slot))| {
                timers.at(*slot).is_some_and(|timer| timer.sequence == *sequence)
            });
        }
    }
}

impl TimerQueue for LazyHeap {
    type Id = Id;

    fn insert(&mut self, expiry: u64, payload: u32) -> Id {
        let id = self.timers.insert(Timer { sequence: self.sequence, payload });
        self.push(expiry, id as u32);
        id
    }

    fn cancel(&mut self, id: Id) -> bool {
        let was_armed = self.timers.remove(id).is_some();
        self.collect_garbage();
        was_armed
    }

    fn rearm(&mut self, id: &mut Id, expiry: u64) -> bool {
        let Some(timer) = self.timers.get(*id) else { return false };
        timer.sequence = self.sequence;
        self.push(expiry, *id as u32);
        self.collect_garbage();
        true
    }

    fn pop(&mut self, now: u64) -> Option<u32> {
        loop {
            let Reverse((expiry, sequence, slot)) = *self.heap.peek()?;
            let is_armed = self.timers.at(slot).is_some_and(|timer| timer.sequence == sequence);
            if is_armed && expiry > now {
                return None;
            }
            self.heap.pop();
            if is_armed {
                return self.timers.remove_at(slot).map(|timer| timer.payload);
            }
        }
    }
}
