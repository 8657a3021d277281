//! A thread owns a queue that tells the first expiry exactly, and so waits anew at each move.

use super::{Kind, Make};
use crate::rearm::queued::Queued;
use tardy_timers::queue::Precise;

pub(super) const KIND: Kind = Kind {
    name: "Precise queue",
    summary: "a thread waits in futex(2) until the next expiry of a tardy_timers Precise queue; a move \
              locks the queue, and wakes the thread where that time has changed: at each move",
    make: Make::Waits(|| Ok(Box::new(Queued::new(Precise::with_capacity(1))))),
};
