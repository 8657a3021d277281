//! A queue as plain as can be, straight from what `Queue` promises: what others are held against.
#![allow(dead_code)] // each test binary uses a part

use tardy_timers::queue::{Fired, Full, Queue};
use tardy_timers::{Expiry, Handle, Stale};

/// All timers, the first to fire first.
pub(crate) struct Plain<T> {
    timers: Vec<Fired<T>>,
    handles: u64,
}

impl<T> Plain<T> {
    pub(crate) fn new() -> Self {
        Self { timers: Vec::new(), handles: 0 }
    }

    fn take(&mut self, handle: Handle) -> Result<Fired<T>, Stale> {
        let at = self.timers.iter().position(|timer| timer.handle == handle).ok_or(Stale)?;
        Ok(self.timers.remove(at))
    }

    /// Behind all that fire at the same time or before.
    fn put(&mut self, timer: Fired<T>) {
        let hard_ns = timer.expiry.hard_ns();
        let at = self.timers.partition_point(|other| other.expiry.hard_ns() <= hard_ns);
        self.timers.insert(at, timer);
    }
}

impl<T> Queue<T> for Plain<T> {
    fn insert(&mut self, expiry: Expiry, payload: T) -> Result<Handle, Full<T>> {
        self.handles += 1;
        let handle = Handle::from_bits(self.handles);
        self.put(Fired { handle, expiry, payload });
        Ok(handle)
    }

    fn cancel(&mut self, handle: Handle) -> Result<T, Stale> {
        self.take(handle).map(|timer| timer.payload)
    }

    fn rearm(&mut self, handle: Handle, expiry: Expiry) -> Result<(), Stale> {
        let timer = self.take(handle)?;
        self.put(Fired { expiry, ..timer });
        Ok(())
    }

    fn next_expiry_ns(&mut self) -> Option<u64> {
        self.timers.first().map(|timer| timer.expiry.hard_ns())
    }

    fn pop_expired(&mut self, now_ns: u64) -> Option<Fired<T>> {
        if self.timers.first()?.expiry.soft_ns() > now_ns {
            return None;
        }
        Some(self.timers.remove(0))
    }

    fn expiry(&self, handle: Handle) -> Result<Expiry, Stale> {
        self.timers.iter().find(|timer| timer.handle == handle).map(|t| t.expiry).ok_or(Stale)
    }

    fn len(&self) -> usize {
        self.timers.len()
    }
}
