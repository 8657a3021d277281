// The plainest queue there can be, to hold others against: a sorted list.

use tardy_timers::queue::{Fired, Full, Queue};
use tardy_timers::{Expiry, Handle, Stale};

/// A list sorted by hard expiry, then by insertion or move. A handle is the number of the insertion.
#[derive(Debug)]
pub(crate) struct Plain<T> {
    timers: Vec<(Handle, Expiry, T)>,
    inserted: u64,
}

impl<T> Plain<T> {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self { timers: Vec::new(), inserted: 0 }
    }

    fn find(&self, handle: Handle) -> Result<usize, Stale> {
        self.timers.iter().position(|timer| timer.0 == handle).ok_or(Stale)
    }

    fn put(&mut self, handle: Handle, expiry: Expiry, payload: T) {
        let at = self.timers.partition_point(|timer| timer.1.hard_ns() <= expiry.hard_ns());
        self.timers.insert(at, (handle, expiry, payload));
    }
}

impl<T> Queue<T> for Plain<T> {
    fn insert(&mut self, expiry: Expiry, payload: T) -> Result<Handle, Full<T>> {
        let handle = Handle::from_bits(self.inserted);
        self.inserted += 1;
        self.put(handle, expiry, payload);
        Ok(handle)
    }

    fn cancel(&mut self, handle: Handle) -> Result<T, Stale> {
        let at = self.find(handle)?;
        Ok(self.timers.remove(at).2)
    }

    fn rearm(&mut self, handle: Handle, expiry: Expiry) -> Result<(), Stale> {
        let payload = self.cancel(handle)?;
        self.put(handle, expiry, payload);
        Ok(())
    }

    fn next_expiry_ns(&mut self) -> Option<u64> {
        self.timers.first().map(|timer| timer.1.hard_ns())
    }

    fn pop_expired(&mut self, now_ns: u64) -> Option<Fired<T>> {
        let is_due = self.timers.first()?.1.soft_ns() <= now_ns;
        let (handle, expiry, payload) = is_due.then(|| self.timers.remove(0))?;
        Some(Fired { handle, expiry, payload })
    }

    fn expiry(&self, handle: Handle) -> Result<Expiry, Stale> {
        self.find(handle).map(|at| self.timers[at].1)
    }

    fn len(&self) -> usize {
        self.timers.len()
    }
}
