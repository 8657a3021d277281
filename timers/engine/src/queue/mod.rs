//! Timer queues: what is armed, and what is due.
//!
//! | queue | for | moving a timer | order |
//! |---|---|---|---|
//! | [`Precise`] | timers that fire | O(1) | exact |
//! | [`Heap`] | the same, where they are few | O(log n) | exact |
//! | [`LazyRearm`] | the same, where programming a device is dear | O(1) | exact |
//! | [`Wheel`] | timers that are moved or cancelled before they fire | O(1) | exact, or by granules |
//! | [`Auto`] | whatever it turns out to be | O(1) | exact |

mod auto;
mod calendar;
mod heap;
mod lazy_rearm;
mod near;
mod order;
mod ordered;
mod precise;
mod slots;
mod wheel;

pub use auto::{Auto, Chosen};
pub use heap::Heap;
pub use lazy_rearm::LazyRearm;
pub use precise::Precise;
pub use wheel::Wheel;

use crate::{Expiry, Handle, Stale};

/// A set of armed timers, each with a payload, ordered by time.
///
/// All queues agree on this, and the model test holds each of them against a sorted list:
///
/// - A queue is ordered by hard expiry; timers of equal hard expiry fire in the order in which they
///   were inserted, or last moved.
/// - The first is *due* when `now` has reached its **soft** expiry. Those behind it wait for it even
///   where their own soft expiry has come: that is what the kernel does, and it keeps time order.
/// - Time is whatever `now_ns` says. It may stand still, and calls with an earlier `now_ns` than before
///   only find less to be due. Any `u64` is a valid time.
/// - A queue made with room for `n` timers allocates nothing until there are more than `n`, or more
///   than a thousand due in the same nanosecond; and in any case nothing once it has been as full.
///
/// Implemented by this crate's queues; who writes another one runs it through `tests/model.rs`.
pub trait Queue<T> {
    /// Arms a timer.
    ///
    /// # Errors
    /// [`Full`] with the payload, at [`TIMERS_MAX`] armed timers.
    fn insert(&mut self, expiry: Expiry, payload: T) -> Result<Handle, Full<T>>;

    /// Disarms a timer and gives its payload back.
    ///
    /// # Errors
    /// [`Stale`] where it has fired or was cancelled before.
    fn cancel(&mut self, handle: Handle) -> Result<T, Stale>;

    /// Moves an armed timer to another time, earlier or later. Among timers of the same time it is now
    /// the last.
    ///
    /// # Errors
    /// [`Stale`] where it has fired or was cancelled before.
    fn rearm(&mut self, handle: Handle, expiry: Expiry) -> Result<(), Stale>;

    /// When to look next: the time to program a clock-event device for, ns. No timer's hard expiry is
    /// earlier. `None` where nothing is armed.
    ///
    /// Whether it is exactly the first hard expiry, or may be earlier, is each queue's to say. It is
    /// later than `now_ns` once [`pop_expired`](Self::pop_expired) has found nothing due at `now_ns`.
    fn next_expiry_ns(&mut self) -> Option<u64>;

    /// Removes the first timer, if it is due at `now_ns`. Called until `None`, it yields all that are
    /// due, in order.
    fn pop_expired(&mut self, now_ns: u64) -> Option<Fired<T>>;

    /// When an armed timer fires.
    ///
    /// # Errors
    /// [`Stale`] where it has fired or was cancelled before.
    fn expiry(&self, handle: Handle) -> Result<Expiry, Stale>;

    /// How many timers are armed.
    fn len(&self) -> usize;

    /// Whether none is.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A timer that fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fired<T> {
    /// The handle it had; stale now.
    pub handle: Handle,
    /// When it was to fire.
    pub expiry: Expiry,
    /// What it carried.
    pub payload: T,
}

/// The most timers a queue can hold at a time: slots are numbered by 32 bits, and some numbers are
/// signs.
pub const TIMERS_MAX: usize = u32::MAX as usize - 16;

/// There is no room for another timer; the payload comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are {TIMERS_MAX} timers in the queue, which is as many as it holds")]
pub struct Full<T>(pub T);
