//! Which timer of a level fires next, and until when its thread can sleep.

use super::lane::Lane;
use super::slots::{Key, Label, Seen};
use crate::queue::Queue;
use crate::{Expiry, Handle};

/// What a level's thread alone knows: the queues. It has no clock: time comes in as a number.
///
/// Precise timers fire in the order of their hard expiry, and so do coarse ones, as far as their
/// queue promises it; of both that are due, the precise ones go first.
pub(super) struct Due<A, B> {
    precise: A,
    coarse: B,
    /// The queue's entry for the slot of that number.
    entries: Box<[Option<Entry>]>,
    /// What the inbox held.
    news: Vec<u32>,
    /// The first hard expiry of those timers that were gone before the thread saw them.
    ///
    /// It sleeps no longer than that, as if they were still there. It wakes once in vain then; but
    /// whoever keeps arming and cancelling timers wakes it only for an earlier one than before,
    /// instead of with each.
    lingering_ns: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    coarse: bool,
    handle: Handle,
}

/// A timer to be fired now.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fire<P> {
    pub(super) key: Key,
    pub(super) label: Label,
    pub(super) expiry: Expiry,
    pub(super) payload: P,
}

/// How long the thread can sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rest {
    /// `u64::MAX` where nothing is armed.
    pub(super) until_ns: u64,
    /// Whether a precise timer is what it will wake for.
    pub(super) precisely: bool,
}

impl<A: Queue<u32>, B: Queue<u32>> Due<A, B> {
    /// For a lane of `slots` slots.
    pub(super) fn new(slots: usize, precise: A, coarse: B) -> Self {
        Self {
            precise,
            coarse,
            entries: vec![None; slots].into(),
            news: Vec::with_capacity(slots),
            lingering_ns: u64::MAX,
        }
    }

    /// Looks at all slots that the thread was told of.
    pub(super) fn hear<P>(&mut self, lane: &Lane<P>, now_ns: u64) {
        let mut news = std::mem::take(&mut self.news);
        lane.take_inbox(&mut news);
        for &slot in &news {
            let seen = lane.slots.look(slot);
            if seen.is_armed() {
                self.enter(lane, slot, &seen);
            } else {
                self.leave(slot);
                if seen.expiry.hard_ns() > now_ns {
                    self.lingering_ns = self.lingering_ns.min(seen.expiry.hard_ns());
                }
            }
        }
        self.news = news;
    }

    /// Takes the next timer that is due.
    pub(super) fn pop<P>(&mut self, lane: &Lane<P>, now_ns: u64) -> Option<Fire<P>> {
        loop {
            let precise = self.precise.pop_expired(now_ns);
            let popped = precise.or_else(|| self.coarse.pop_expired(now_ns))?;
            let slot = popped.payload;
            self.entries[slot as usize] = None;
            let seen = lane.slots.look(slot);
            if !seen.is_armed() {
                continue;
            }
            let expiry = seen.expiry;
            if expiry.soft_ns() > now_ns || expiry.hard_ns() > popped.expiry.hard_ns() {
                // Moved to later, or another timer in the same slot. It may be due even so, but
                // others come first.
                self.enter(lane, slot, &seen);
            } else if let Some((key, label, payload)) = lane.slots.claim(slot, &seen, now_ns) {
                return Some(Fire { key, label, expiry, payload });
            }
        }
    }

    /// Says that the thread is going to sleep and until when it may. `None` where something is due.
    pub(super) fn rest<P>(&mut self, lane: &Lane<P>, now_ns: u64) -> Option<Rest> {
        if self.lingering_ns <= now_ns {
            self.lingering_ns = u64::MAX;
        }
        let mut rest = self.next();
        while rest.until_ns > now_ns {
            lane.sleeps_until(rest.until_ns);
            self.hear(lane, now_ns);
            // Once is enough where nothing earlier has come: who comes now knows until when the
            // thread sleeps.
            let next = self.next();
            if next.until_ns >= rest.until_ns {
                return Some(rest);
            }
            rest = next;
        }
        lane.awake();
        None
    }

    fn next(&mut self) -> Rest {
        let precise_ns = self.precise.next_expiry_ns().unwrap_or(u64::MAX);
        let coarse_ns = self.coarse.next_expiry_ns().unwrap_or(u64::MAX);
        let roughly_ns = coarse_ns.min(self.lingering_ns);
        Rest { until_ns: precise_ns.min(roughly_ns), precisely: precise_ns <= roughly_ns }
    }

    fn enter<P>(&mut self, lane: &Lane<P>, slot: u32, seen: &Seen) {
        if self.entries[slot as usize].is_some_and(|entry| entry.coarse != seen.coarse) {
            self.leave(slot);
        }
        if let Some(entry) = self.entries[slot as usize] {
            let moved = if entry.coarse {
                self.coarse.rearm(entry.handle, seen.expiry)
            } else {
                self.precise.rearm(entry.handle, seen.expiry)
            };
            moved.expect("an entry is in its queue");
        } else {
            let entered = if seen.coarse {
                self.coarse.insert(seen.expiry, slot)
            } else {
                self.precise.insert(seen.expiry, slot)
            };
            let handle = entered.expect("a queue holds more than there are slots");
            self.entries[slot as usize] = Some(Entry { coarse: seen.coarse, handle });
        }
        lane.slots.promise(slot, seen);
    }

    fn leave(&mut self, slot: u32) {
        let Some(entry) = self.entries[slot as usize].take() else { return };
        let left = if entry.coarse {
            self.coarse.cancel(entry.handle)
        } else {
            self.precise.cancel(entry.handle)
        };
        left.expect("an entry is in its queue");
    }
}
