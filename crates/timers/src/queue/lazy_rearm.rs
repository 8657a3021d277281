//! The precise queue for whoever pays dearly for programming a device.

use super::{Fired, Full, Precise, Queue};
use crate::{Expiry, Handle, Stale};

/// A [`Precise`] queue whose [`next_expiry_ns`](Queue::next_expiry_ns) may be earlier than the first
/// timer.
///
/// When the first timer is moved later, or cancelled, the time to look next stays: the device need not be
/// programmed anew. It comes, nothing is due, and the true time is settled then: one
/// interrupt for nothing, for any number of moves before it. What fires, when and in what order is the
/// same as for [`Precise`].
#[derive(Debug, Default)]
pub struct LazyRearm<T>(Precise<T>);

impl<T> LazyRearm<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Self(Precise::new())
    }

    /// An empty queue that allocates nothing until there are more than `timers`.
    pub fn with_capacity(timers: usize) -> Self {
        Self(Precise::with_capacity(timers))
    }
}

impl<T> Queue<T> for LazyRearm<T> {
    fn insert(&mut self, expiry: Expiry, payload: T) -> Result<Handle, Full<T>> {
        self.0.insert(expiry, payload)
    }

    fn cancel(&mut self, handle: Handle) -> Result<T, Stale> {
        self.0.cancel(handle)
    }

    fn rearm(&mut self, handle: Handle, expiry: Expiry) -> Result<(), Stale> {
        self.0.rearm(handle, expiry)
    }

    fn next_expiry_ns(&mut self) -> Option<u64> {
        self.0.earliest_entry_ns()
    }

    fn pop_expired(&mut self, now_ns: u64) -> Option<Fired<T>> {
        self.0.pop_expired(now_ns)
    }

    fn expiry(&self, handle: Handle) -> Result<Expiry, Stale> {
        self.0.expiry(handle)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}
