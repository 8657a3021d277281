//! In which queues a level's thread keeps its timers.

use super::heap::Heap;

/// For precise timers.
pub(super) type Precise = Heap<u32>;
/// For coarse ones.
pub(super) type Coarse = Heap<u32>;

/// Empty ones, with room for `timers`.
pub(super) fn new(timers: usize) -> (Precise, Coarse) {
    (Heap::with_capacity(timers), Heap::with_capacity(timers))
}
