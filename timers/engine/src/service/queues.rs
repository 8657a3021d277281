//! In which queues a level's thread keeps its timers.

use crate::queue::{Auto, Wheel};

/// For precise timers.
pub(super) type Precise = Auto<u32>;
/// For coarse ones.
pub(super) type Coarse = Wheel<u32>;

/// How late a coarse timer may fire for being coarse, and one ns more: about a millisecond.
pub const COARSE_NS: u64 = 1 << 20;

/// Empty ones, with room for `timers`.
pub(super) fn new(timers: usize) -> (Precise, Coarse) {
    let mut coarse = Wheel::coarse(COARSE_NS);
    coarse.reserve(timers);
    (Auto::with_capacity(timers), coarse)
}
