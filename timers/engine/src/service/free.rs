//! Which slots are in nobody's use.

use super::sync::{AtomicU32, AtomicU64, Ordering};

/// Stacks of slot numbers: what was put back last, and is warm, is taken first.
///
/// There are [`SHARDS`](Self::SHARDS) of them, so that threads that arm do not meet on one word. Each
/// slot belongs to one; a thread whose own is empty looks into the others, so that all slots can be
/// used by any thread.
pub(super) struct Free {
    heads: [Head; Self::SHARDS],
    /// Below the slot of that number on its stack.
    next: Box<[AtomicU32]>,
}

/// The slot on top in the lower [`SLOT_BITS`], above it how often the stack was changed: that makes a
/// compare-and-swap fail where the same slot was taken and put back meanwhile. Its 40 bits last for 30
/// hours of ten million changes a second, all of them within one compare-and-swap.
#[repr(align(128))]
struct Head(AtomicU64);

const SLOT_BITS: u32 = 24;
const NONE: u32 = (1 << SLOT_BITS) - 1;

impl Free {
    /// How many stacks there are.
    pub(super) const SHARDS: usize = 8;
    /// The most slots there can be.
    pub(super) const SLOTS_MAX: usize = NONE as usize;

    /// `slots` slots, all of them free.
    pub(super) fn new(slots: usize) -> Self {
        assert!(slots <= Self::SLOTS_MAX);
        let free = Self {
            heads: std::array::from_fn(|_| Head(AtomicU64::new(u64::from(NONE)))),
            next: (0..slots).map(|_| AtomicU32::new(NONE)).collect(),
        };
        (0..slots as u32).rev().for_each(|slot| free.put(slot));
        free
    }

    /// A slot that is now the caller's, from stack `near` where it has one.
    pub(super) fn take(&self, near: usize) -> Option<u32> {
        (0..Self::SHARDS).find_map(|far| self.pop(&self.heads[(near + far) % Self::SHARDS].0))
    }

    fn pop(&self, head: &AtomicU64) -> Option<u32> {
        let mut seen = head.load(Ordering::Acquire);
        loop {
            let slot = seen as u32 & NONE;
            if slot == NONE {
                return None;
            }
            let below = self.next[slot as usize].load(Ordering::Relaxed);
            match head.compare_exchange_weak(
                seen,
                changed(seen, below),
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some(slot),
                Err(now) => seen = now,
            }
        }
    }

    /// Gives a slot back.
    pub(super) fn put(&self, slot: u32) {
        let head = &self.heads[slot as usize * Self::SHARDS / self.next.len()].0;
        let mut seen = head.load(Ordering::Relaxed);
        loop {
            self.next[slot as usize].store(seen as u32 & NONE, Ordering::Relaxed);
            match head.compare_exchange_weak(
                seen,
                changed(seen, slot),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }
}

/// The head with another slot on top.
const fn changed(head: u64, top: u32) -> u64 {
    ((head >> SLOT_BITS).wrapping_add(1) << SLOT_BITS) | top as u64
}
