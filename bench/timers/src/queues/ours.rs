//! Any of tardy's queues.

use crate::queue::TimerQueue;
use tardy_timers::queue::Queue;
use tardy_timers::{Expiry, Handle};

/// A tick is a microsecond.
const NS_PER_TICK: u64 = 1000;

pub(crate) struct Ours<Q>(pub(crate) Q);

impl<Q: Queue<u32>> TimerQueue for Ours<Q> {
    // Handles have no default; as a number they have.
    type Id = u64;

    fn insert(&mut self, expiry: u64, payload: u32) -> u64 {
        let handle = self.0.insert(Expiry::at(expiry * NS_PER_TICK), payload);
        // A timer that was refused is missed when it is named, or when it is due.
        handle.map_or(0, Handle::to_bits)
    }

    fn cancel(&mut self, id: u64) -> bool {
        self.0.cancel(Handle::from_bits(id)).is_ok()
    }

    fn rearm(&mut self, id: &mut u64, expiry: u64) -> bool {
        self.0.rearm(Handle::from_bits(*id), Expiry::at(expiry * NS_PER_TICK)).is_ok()
    }

    fn pop(&mut self, now: u64) -> Option<u32> {
        self.0.pop_expired(now * NS_PER_TICK).map(|fired| fired.payload)
    }
}
