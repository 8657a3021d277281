//! What is asked of a timer queue here.

/// A set of armed timers, each with a number as its payload.
///
/// Times are *ticks*: a microsecond for who counts nanoseconds, a millisecond for libraries that count
/// milliseconds, so that nobody's resolution rounds a time. An id names a timer from its insertion
/// until it fires or is cancelled; after that it is refused, for ever. Where a library does not see to
/// that itself, the adapter does, as its user would have to.
pub trait TimerQueue {
    /// Names an armed timer.
    type Id: Copy + Default;

    /// Arms a timer. `expiry` is later than the last `now` that was given to [`pop`](Self::pop).
    fn insert(&mut self, expiry: u64, payload: u32) -> Self::Id;

    /// Disarms a timer; false where it was not armed.
    fn cancel(&mut self, id: Self::Id) -> bool;

    /// Moves an armed timer, which may have another id then; false where it was not armed.
    fn rearm(&mut self, id: &mut Self::Id, expiry: u64) -> bool;

    /// Removes a timer that is due at `now` and gives its payload; in order of expiry. Called until
    /// `None`, with nothing else in between.
    fn pop(&mut self, now: u64) -> Option<u32>;
}
