//! The queue for timers that fire.

mod far;
mod order;

pub(super) use order::PreciseOrder;

use super::ordered::{Ordered, queue};

/// The queue for timers that fire: exact to the nanosecond.
///
/// Timers sit in *slots*. Their order is held by *entries*, of which one counts for each slot: those of
/// timers due soon, sorted; those of all others, as bare slot numbers in buckets by the digits of their
/// time, sorted when they become the next (a radix sort that is put off for as long as can be). An
/// entry is a promise to look at the slot no later than at a certain time, nothing more. So
///
/// - moving a timer later writes its slot and leaves the entry where it is; when that comes up, it
///   goes to where the timer now belongs;
/// - cancelling frees the slot and leaves the entry; the next timer in the slot takes it over, or it is
///   dropped when it comes up;
/// - moving a timer earlier makes a second entry; the first is garbage. When garbage exceeds half
///   the slots it is swept.
///
/// Costs, amortised: insert, cancel and move O(1); a timer that fires passes through as many levels of
/// buckets as the timers are many, log₂₅₆ of their number. A single call may open a bucket and so look
/// at all timers in it: with 10⁷ timers that may take tenths of a second.
///
/// 40 bytes a timer, beside the payload and an `Option` around it, and 4 to 7 bytes of entries.
///
/// [`next_expiry_ns`](super::Queue::next_expiry_ns) is exact.
#[derive(Debug)]
pub struct Precise<T>(Ordered<PreciseOrder, T>);

impl<T> Precise<T> {
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

impl<T> Default for Precise<T> {
    fn default() -> Self {
        Self::new()
    }
}

queue!(Precise, |ordered| ordered.first_ns());
