//! The queue for timers that are moved or cancelled.

mod lists;
mod order;

pub(super) use order::WheelOrder;

use super::ordered::{Ordered, queue};

/// The queue for timers that nearly always are moved or cancelled before they fire.
///
/// A hierarchical timer wheel (Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987)
/// with 256 buckets a level, the first of one granule each, and linked lists in them. Cancelling takes
/// a timer out of its list at once and leaves nothing behind. Moving it later writes its time; it
/// goes to another bucket when the old one comes up. Timers pass from level to level until their
/// granule comes, which is then sorted.
///
/// Timers fire at their own nanosecond, or at the end of their granule: the user's choice.
///
/// Costs: insert, cancel and move O(1), not amortised. A timer that fires passes through a bucket of
/// each level that separates it from now. One call may open a bucket and look at all timers in it.
///
/// 40 bytes a timer, beside the payload and an `Option` around it; 24 more while its granule is due.
///
/// [`next_expiry_ns`](super::Queue::next_expiry_ns) may be earlier than the first timer: it is where the
/// next bucket begins.
#[derive(Debug)]
pub struct Wheel<T>(Ordered<WheelOrder, T>);

impl<T> Wheel<T> {
    /// The granularity of [`new`](Self::new), ns: 2¹⁰.
    pub const GRANULARITY_DEFAULT_NS: u64 = 1 << 10;

    /// A wheel that fires at the nanosecond, with granules of about a microsecond.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// As [`new`](Self::new); allocates nothing until there are more than `timers`, or more than a
    /// thousand due in the same granule.
    pub fn with_capacity(timers: usize) -> Self {
        Self(Ordered::with_capacity(WheelOrder::new(Self::GRANULARITY_DEFAULT_NS, false), timers))
    }

    /// A wheel that sorts a granule when it is due, and so fires every timer at its own nanosecond.
    pub fn exact(granularity_ns: u64) -> Self {
        Self(Ordered::with_capacity(WheelOrder::new(granularity_ns, false), 0))
    }

    /// A wheel that fires timers at the end of their granule: up to [`granularity_ns`] − 1 late, and all
    /// those of a granule in the order in which they were inserted or last moved.
    ///
    /// [`granularity_ns`]: Self::granularity_ns
    pub fn coarse(granularity_ns: u64) -> Self {
        Self(Ordered::with_capacity(WheelOrder::new(granularity_ns, true), 0))
    }

    /// Makes room for `timers` in all: until there are more nothing is allocated, unless more than a
    /// thousand are due in the same granule.
    pub fn reserve(&mut self, timers: usize) {
        self.0.reserve(timers);
    }

    /// The length of a granule: what was asked for, rounded down to a power of two, ns.
    pub fn granularity_ns(&self) -> u64 {
        self.0.order.granularity_ns()
    }
}

impl<T> Default for Wheel<T> {
    fn default() -> Self {
        Self::new()
    }
}

queue!(Wheel, |ordered| ordered.earliest_ns());
