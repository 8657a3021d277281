//! The precise queue for whoever pays dearly for programming a device.

use super::ordered::{Ordered, queue};
use super::precise::PreciseOrder;

/// A [`Precise`](super::Precise) queue whose [`next_expiry_ns`](super::Queue::next_expiry_ns) may be
/// earlier than the first timer.
///
/// When the first timer is moved later, or cancelled, the time to look next stays: the device need not
/// be programmed anew. It comes, nothing is due, and the true time is settled then: one interrupt for
/// nothing, for any number of moves before it. What fires, when and in what order is the same as for
/// `Precise`.
#[derive(Debug)]
pub struct LazyRearm<T>(Ordered<PreciseOrder, T>);

impl<T> LazyRearm<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// An empty queue that allocates nothing until there are more than `timers`, or more than a
    /// thousand due in the same nanosecond.
    pub fn with_capacity(timers: usize) -> Self {
        Self(Ordered::with_capacity(PreciseOrder::new(), timers))
    }
}

impl<T> Default for LazyRearm<T> {
    fn default() -> Self {
        Self::new()
    }
}

queue!(LazyRearm, |ordered| ordered.earliest_ns());
