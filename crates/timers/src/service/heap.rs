//! A queue to begin with; to be replaced by those of [`crate::queue`].

use crate::queue::{Fired, Full, Queue};
use crate::{Expiry, Handle, Stale};
use alloc::collections::BTreeMap;

/// Timers in a tree, by hard expiry and by when they were inserted.
pub(super) struct Heap<T> {
    armed: BTreeMap<(u64, u64), (Expiry, Handle, T)>,
    places: BTreeMap<Handle, (u64, u64)>,
    count: u64,
}

impl<T> Heap<T> {
    /// Empty.
    pub(super) fn with_capacity(_timers: usize) -> Self {
        Self { armed: BTreeMap::new(), places: BTreeMap::new(), count: 0 }
    }

    fn put(&mut self, handle: Handle, expiry: Expiry, payload: T) {
        self.count += 1;
        let place = (expiry.hard_ns(), self.count);
        self.armed.insert(place, (expiry, handle, payload));
        self.places.insert(handle, place);
    }
}

impl<T> Queue<T> for Heap<T> {
    fn insert(&mut self, expiry: Expiry, payload: T) -> Result<Handle, Full<T>> {
        let handle = Handle::from_bits(self.count + 1);
        self.put(handle, expiry, payload);
        Ok(handle)
    }

    fn cancel(&mut self, handle: Handle) -> Result<T, Stale> {
        let place = self.places.remove(&handle).ok_or(Stale)?;
        self.armed.remove(&place).map(|(_, _, payload)| payload).ok_or(Stale)
    }

    fn rearm(&mut self, handle: Handle, expiry: Expiry) -> Result<(), Stale> {
        let payload = self.cancel(handle)?;
        self.put(handle, expiry, payload);
        Ok(())
    }

    fn next_expiry_ns(&mut self) -> Option<u64> {
        self.armed.keys().next().map(|place| place.0)
    }

    fn pop_expired(&mut self, now_ns: u64) -> Option<Fired<T>> {
        let first = self.armed.first_entry()?;
        if first.get().0.soft_ns() > now_ns {
            return None;
        }
        let (expiry, handle, payload) = first.remove();
        self.places.remove(&handle);
        Some(Fired { handle, expiry, payload })
    }

    fn expiry(&self, handle: Handle) -> Result<Expiry, Stale> {
        let place = self.places.get(&handle).ok_or(Stale)?;
        Ok(self.armed[place].0)
    }

    fn len(&self) -> usize {
        self.armed.len()
    }
}
