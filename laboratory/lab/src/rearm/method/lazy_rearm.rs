//! A thread owns a queue that keeps its first expiry when timers are moved later.

use super::{Kind, Make};
use crate::rearm::queued::Queued;
use tardy_timers::queue::LazyRearm;

pub(super) const KIND: Kind = Kind {
    name: "LazyRearm queue",
    summary: "a thread waits in futex(2) until the next expiry of a tardy_timers LazyRearm queue; a \
              move locks the queue, and wakes the thread where that time has changed: when the old \
              one has come",
    make: Make::Waits(|| Ok(Box::new(Queued::new(LazyRearm::with_capacity(1))))),
};
