//! std's sorted map, by expiry and by when a timer was put there; that pair is the id.

use crate::queue::TimerQueue;
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct SortedMap {
    timers: BTreeMap<(u64, u64), u32>,
    sequence: u64,
}

impl TimerQueue for SortedMap {
    type Id = (u64, u64);

    fn insert(&mut self, expiry: u64, payload: u32) -> (u64, u64) {
        let id = (expiry, self.sequence);
        self.sequence += 1;
        self.timers.insert(id, payload);
        id
    }

    fn cancel(&mut self, id: (u64, u64)) -> bool {
        self.timers.remove(&id).is_some()
    }

    fn rearm(&mut self, id: &mut (u64, u64), expiry: u64) -> bool {
        let Some(payload) = self.timers.remove(id) else { return false };
        *id = self.insert(expiry, payload);
        true
    }

    fn pop(&mut self, now: u64) -> Option<u32> {
        let first = self.timers.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }
}
