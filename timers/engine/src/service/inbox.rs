//! Which slots a level's thread is to look at.

use super::sync::{AtomicU32, Ordering};

/// A lock-free queue of slot numbers, from any thread to one.
///
/// A slot is in it at most once, so that as many places as there are slots are enough and it is never
/// full. It is a list linked through the slots that the reader takes as a whole: unlike in a ring, a
/// writer that is preempted half-way keeps nobody from writing or reading, which matters where the
/// reader is a real-time thread that preempts the writers.
pub(super) struct Inbox {
    /// Written last.
    head: AtomicU32,
    /// Written before the slot of that number; [`UNLISTED`] where that is not in the list.
    next: Box<[AtomicU32]>,
}

const END: u32 = u32::MAX;
const UNLISTED: u32 = u32::MAX - 1;

impl Inbox {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            head: AtomicU32::new(END),
            next: (0..slots).map(|_| AtomicU32::new(UNLISTED)).collect(),
        }
    }

    /// Has `slot` looked at, after whatever the caller has written before. Where it is listed already,
    /// perhaps by a thread that has not come to its end yet, that one's entry counts for this too.
    pub(super) fn push(&self, slot: u32) {
        let next = &self.next[slot as usize];
        if next.compare_exchange(UNLISTED, END, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return;
        }
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            next.store(head, Ordering::Relaxed);
            match self.head.compare_exchange_weak(head, slot, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Takes all there are into `into`, the first first. From here on they can be listed again.
    pub(super) fn take(&self, into: &mut Vec<u32>) {
        into.clear();
        if self.is_empty() {
            return;
        }
        let mut slot = self.head.swap(END, Ordering::SeqCst);
        while slot != END {
            into.push(slot);
            // Unlisted before it is looked at: who finds it listed is sure to be seen.
            slot = self.next[slot as usize].swap(UNLISTED, Ordering::SeqCst);
        }
        into.reverse();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.load(Ordering::SeqCst) == END
    }
}
